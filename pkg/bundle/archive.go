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
	// Time is that of the files.
	Time time.Time

	files map[string][]byte
	notes []string
}

// Add adds a file. Its text has been cleaned already.
func (a *Archive) Add(name string, data []byte) {
	if a.files == nil {
		a.files = map[string][]byte{}
	}
	a.files[name] = data
}

// Note says what is not in the archive, and why.
func (a *Archive) Note(format string, args ...any) {
	a.notes = append(a.notes, Text(fmt.Sprintf(format, args...)))
}

// Notes are what was noted.
func (a *Archive) Notes() []string { return a.notes }

// Names are those of the files, sorted.
func (a *Archive) Names() []string {
	out := make([]string, 0, len(a.files))
	for name := range a.files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Write writes a gzipped tar with all files below one folder.
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
