package bundle

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
)

// Archive collects files for an issue.
type Archive struct {
	// Time is the modification time of all files.
	Time time.Time

	files map[string][]byte
	notes []string
}

// Add adds a file. The caller has redacted the text.
func (a *Archive) Add(name string, data []byte) {
	if a.files == nil {
		a.files = map[string][]byte{}
	}
	a.files[name] = data
}

// Note adds a note about data missing in the archive, and the reason.
func (a *Archive) Note(format string, args ...any) {
	a.notes = append(a.notes, Text(fmt.Sprintf(format, args...)))
}

// Notes returns all notes.
func (a *Archive) Notes() []string { return a.notes }

// Names returns the sorted names of the files.
func (a *Archive) Names() []string {
	out := make([]string, 0, len(a.files))
	for name := range a.files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Write writes a gzipped tar with all files in a single folder.
func (a *Archive) Write(to io.Writer, folder string) error {
	zip := gzip.NewWriter(to)
	out := tar.NewWriter(zip)
	for _, name := range a.Names() {
		data := a.files[name]
		h := &tar.Header{Name: path.Join(folder, name), Mode: 0o600, Size: int64(len(data)), ModTime: a.Time, Typeflag: tar.TypeReg}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return cmp.Or(out.Close(), zip.Close())
}
