package fleet

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// ReleasesEnv names the environment variable that overrides the address of the released programs. The value "off" disables the
// download.
const ReleasesEnv = "TOWLINE_FLEET_RELEASES"

// defaultReleases is the address of the archives that the workflow fleet.yml publishes.
const defaultReleases = "https://github.com/towline-io/towline/releases/download/fleet"

// checksums has a line for each released archive: the name of the set's folder, the version of Go that built the programs, and
// the SHA-256 of the archive. The folder's name has a hash of all inputs of the build, so an archive is never taken for other
// sources.
//
//go:embed released.txt
var checksums string

const (
	// answerLimit limits the time until the server answers, so that the build starts soon on a machine without the internet.
	answerLimit = 3 * time.Second

	// stallLimit limits the time without any data during a download.
	stallLimit = 20 * time.Second

	// timeLimit and sizeLimit limit a whole download.
	timeLimit = 10 * time.Minute
	sizeLimit = 2 << 30
)

// An archive is a released archive of a set's folder.
type archive struct{ name, checksum string }

// archiveOf returns the archive of a set in a list of checksums, for this system and for the sources in a folder. The version of
// Go may differ from the version of this program.
func archiveOf(list, source string, set programSet) (archive, error) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := setKey(source, set, fields[1])
		if err != nil {
			return archive{}, err
		}
		if fields[0] == set.name+"-"+key {
			return archive{fields[0] + ".tar.gz", fields[2]}, nil
		}
	}
	return archive{}, errors.New("no checksum of a released archive is known for these sources on this system")
}

// download fills the folder of a set from the released archive. The error is the reason for a build.
func (b *Builder) download(ctx context.Context, source, folder string, set programSet) error {
	if b.Releases == "off" {
		return errors.New("the download is disabled")
	}
	released, err := archiveOf(b.checksums, source, set)
	if err != nil {
		return err
	}
	file := filepath.Join(b.CacheDir, released.name)
	address := strings.TrimSuffix(b.Releases, "/") + "/" + released.name
	resumed, err := fetch(ctx, address, file, b.Progress)
	if err != nil {
		return err
	}
	got, err := checksumOf(file)
	if err == nil && got != released.checksum && resumed {
		// The first part can be from a damaged download.
		if err = os.Remove(file); err == nil {
			if _, err = fetch(ctx, address, file, b.Progress); err == nil {
				got, err = checksumOf(file)
			}
		}
	}
	if err != nil {
		return err
	}
	defer os.Remove(file)
	if got != released.checksum {
		return fmt.Errorf("%s has the checksum %s instead of %s, and is removed", address, got, released.checksum)
	}
	return unpackSet(file, folder)
}

// fetch downloads a file. If a part of the file exists, fetch asks for the rest, and returns true if the server sends the rest.
func fetch(ctx context.Context, address, path string, progress io.Writer) (resumed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("%s takes longer than %s", address, timeLimit))
	defer stop()
	timer := time.AfterFunc(answerLimit, func() { cancel(fmt.Errorf("%s does not answer", address)) })
	defer timer.Stop()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	if info.Size() > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", info.Size()))
	}
	response, err := http.DefaultClient.Do(req) //nolint:bodyclose // closed below; the linter does not follow the reader
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	had := info.Size()
	switch response.StatusCode {
	case http.StatusPartialContent:
		resumed = true
	case http.StatusRequestedRangeNotSatisfiable: // the part is the whole file, or longer
		return true, nil
	case http.StatusOK:
		if err := file.Truncate(0); err != nil {
			return false, err
		}
		had = 0
	default:
		return false, fmt.Errorf("%s answers %s", address, response.Status)
	}
	fmt.Fprintf(progress, "downloading %s (%d MB)\n", address, response.ContentLength/1_000_000)
	got, err := io.Copy(file, io.LimitReader(readerFunc(func(data []byte) (int, error) {
		timer.Reset(stallLimit)
		return response.Body.Read(data)
	}), sizeLimit-had+1))
	if err == nil && had+got > sizeLimit {
		err = errors.Join(fmt.Errorf("%s is larger than %d MB", address, sizeLimit/1_000_000), os.Remove(path))
	}
	return resumed, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(data []byte) (int, error) { return f(data) }

func checksumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// unpackSet replaces the folder of a set by the content of a verified archive.
func unpackSet(path, folder string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	part, err := os.MkdirTemp(filepath.Dir(folder), "released-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := unpack(file, part); err != nil {
		return fmt.Errorf("unpacking %s: %w", path, err)
	}
	return errors.Join(os.Chmod(part, 0o755), os.RemoveAll(folder), os.Rename(part, folder))
}

func unpack(compressed io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	plain, err := gzip.NewReader(compressed)
	if err != nil {
		return err
	}
	files := tar.NewReader(plain)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		file, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		if _, err := io.Copy(file, files); err != nil {
			file.Close()
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
}

// pack writes the regular files of a set's folder as an archive. The same files give the same archive.
func pack(folder string, compressed io.Writer) error {
	plain := gzip.NewWriter(compressed)
	files := tar.NewWriter(plain)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if err := files.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: mode, Size: info.Size()}); err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(files, file)
		return err
	})
	return errors.Join(err, files.Close(), plain.Close())
}

// Archive writes the archive of the fleet's program into a folder, and returns the archive's line of released.txt. It is an error
// if released.txt has another checksum for the archive.
func (b *Builder) Archive(ctx context.Context, folder string) (line string, err error) {
	b.Releases = "off"
	programs, err := b.build(ctx, fleetSet)
	if err != nil {
		return "", err
	}
	built := programs.folders[fleetSet.name]
	path := filepath.Join(folder, filepath.Base(built)+".tar.gz")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	if err := errors.Join(pack(built, file), file.Close()); err != nil {
		return "", err
	}
	checksum, err := checksumOf(path)
	if err != nil {
		return "", err
	}
	line = fmt.Sprintf("%s %s %s", filepath.Base(built), runtime.Version(), checksum)
	if !strings.Contains(b.checksums, line+"\n") {
		return line, fmt.Errorf("e2e/fleet/released.txt does not have this line: %s", line)
	}
	return line, nil
}
