package fleet

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A releaseServer serves the archive of the tiny module's folder, and records the requests.
type releaseServer struct {
	*httptest.Server
	builder Builder // knows the checksum of the archive, and has an empty cache
	set     programSet
	name    string
	archive []byte
	ranges  []string // the header Range of each request
}

// newReleaseServer builds the tiny module, and serves what is built. The handler is for other answers, or nil.
func newReleaseServer(t *testing.T, handler http.HandlerFunc) *releaseServer {
	t.Helper()
	source, set := tinyModule(t)
	origin := Builder{CacheDir: t.TempDir(), SourceDir: source, Releases: "off"}
	programs, err := origin.build(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := pack(programs.folders[set.name], &data); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(programs.folders[set.name])
	s := &releaseServer{set: set, name: name + ".tar.gz", archive: data.Bytes()}
	if handler == nil {
		handler = func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, s.name, time.Time{}, bytes.NewReader(s.archive))
		}
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		if r.URL.Path != "/"+s.name {
			http.NotFound(w, r)
			return
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), s.name)
	if err := os.WriteFile(file, s.archive, 0o600); err != nil {
		t.Fatal(err)
	}
	checksum, err := checksumOf(file)
	if err != nil {
		t.Fatal(err)
	}
	s.builder = Builder{
		CacheDir: t.TempDir(), SourceDir: source, Releases: s.URL,
		checksums: "# a comment\n\nother-000000000000 go1.25.0 00\n" + name + " " + runtime.Version() + " " + checksum + "\n",
	}
	return s
}

// build builds the tiny module with the server, and returns the lines of the progress.
func (s *releaseServer) build(t *testing.T) string {
	t.Helper()
	var progress bytes.Buffer
	s.builder.Progress = &progress
	programs, err := s.builder.build(t.Context(), s.set)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tiny", "tiny-alias"} {
		if info, err := os.Stat(programs.Path(name)); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if files, err := programs.manifests(s.set, "crds"); err != nil || len(files) != 1 {
		t.Errorf("manifests %v, %v", files, err)
	}
	left, err := filepath.Glob(filepath.Join(s.builder.CacheDir, "released-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return progress.String()
}

func wantProgress(t *testing.T, got string, built bool, reason string) {
	t.Helper()
	if strings.Contains(got, "built tiny") != built || !strings.Contains(got, reason) {
		t.Errorf("built %v is wanted, and %q, in:\n%s", built, reason, got)
	}
}

func TestReleasedPrograms(t *testing.T) {
	s := newReleaseServer(t, nil)
	t.Run("need no Go", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		wantProgress(t, s.build(t), false, "downloading "+s.URL)
	})
	if file := filepath.Join(s.builder.CacheDir, s.name); len(s.ranges) != 1 {
		t.Errorf("%d requests for %s", len(s.ranges), file)
	} else if _, err := os.Stat(file); err == nil {
		t.Errorf("left behind: %s", file)
	}
}

func TestReleasedProgramsResume(t *testing.T) {
	for name, tc := range map[string]struct {
		part     func(archive []byte) []byte
		requests int
	}{
		"half a download":           {func(a []byte) []byte { return a[:len(a)/2] }, 1},
		"a whole download":          {func(a []byte) []byte { return a }, 1},
		"half a damaged download":   {func(a []byte) []byte { return bytes.Repeat([]byte("x"), len(a)/2) }, 2},
		"a download that is longer": {func(a []byte) []byte { return append(bytes.Clone(a), 'x') }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReleaseServer(t, nil)
			if err := os.WriteFile(filepath.Join(s.builder.CacheDir, s.name), tc.part(s.archive), 0o600); err != nil {
				t.Fatal(err)
			}
			wantProgress(t, s.build(t), false, "")
			if len(s.ranges) != tc.requests || s.ranges[0] == "" {
				t.Errorf("requests with the ranges %q, want %d requests", s.ranges, tc.requests)
			}
		})
	}
}

// TestReleasedProgramsAnew: a server without ranges sends the whole archive again.
func TestReleasedProgramsAnew(t *testing.T) {
	var s *releaseServer
	s = newReleaseServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.archive) })
	if err := os.WriteFile(filepath.Join(s.builder.CacheDir, s.name), s.archive[:len(s.archive)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	wantProgress(t, s.build(t), false, "downloading")
}

// TestReleasedProgramsWithAnotherChecksum: a program is never unpacked from an archive with a different checksum.
func TestReleasedProgramsWithAnotherChecksum(t *testing.T) {
	var s *releaseServer
	s = newReleaseServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(append(bytes.Clone(s.archive), 'x')) })
	wantProgress(t, s.build(t), true, "has the checksum")
	if _, err := os.Stat(filepath.Join(s.builder.CacheDir, s.name)); err == nil {
		t.Error("the archive stays")
	}
}

func TestReleasedProgramsAway(t *testing.T) {
	t.Run("not found", func(t *testing.T) {
		s := newReleaseServer(t, http.NotFound)
		wantProgress(t, s.build(t), true, "404 Not Found")
	})
	t.Run("no server", func(t *testing.T) {
		s := newReleaseServer(t, nil)
		s.Close()
		wantProgress(t, s.build(t), true, "connection refused")
	})
	t.Run("no answer", func(t *testing.T) {
		s := newReleaseServer(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		began := time.Now()
		_, err := fetch(t.Context(), s.URL+"/"+s.name, filepath.Join(t.TempDir(), s.name), io.Discard)
		if err == nil || !strings.Contains(err.Error(), "does not answer") || time.Since(began) > 2*answerLimit {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		s := newReleaseServer(t, nil)
		s.builder.Releases = "off"
		wantProgress(t, s.build(t), true, "disabled")
	})
	t.Run("other sources", func(t *testing.T) {
		s := newReleaseServer(t, nil)
		if err := os.WriteFile(filepath.Join(s.builder.SourceDir, "tiny", "go.sum"), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		wantProgress(t, s.build(t), true, "no checksum")
		if len(s.ranges) > 0 {
			t.Error("an archive for other sources was requested")
		}
	})
}

// TestSizeLimit: a download that grows beyond the limit ends, and leaves nothing behind. The first part is a sparse file.
func TestSizeLimit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusPartialContent)
		for {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, sizeLimit-100); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stallLimit)
	defer cancel()
	if _, err := fetch(ctx, server.URL, file, io.Discard); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("the download ends with %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file stays")
	}
}

// TestTimeLimit: a download that never stalls and never ends is given up.
func TestTimeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	synctest.Test(t, func(t *testing.T) {
		http.DefaultClient.Transport = slowly{}
		defer func() { http.DefaultClient.Transport = nil }()
		ctx, cancel := context.WithTimeout(t.Context(), 2*timeLimit)
		defer cancel()
		if _, err := fetch(ctx, "http://releases", path, io.Discard); err == nil || !strings.Contains(err.Error(), "takes longer than 10m") {
			t.Errorf("the download ends with %v", err)
		}
	})
}

// slowly answers each request with a byte in each second, until the end of the request.
type slowly struct{}

func (slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	body := readerFunc(func(data []byte) (int, error) {
		select {
		case <-r.Context().Done():
			return 0, r.Context().Err()
		case <-time.After(time.Second):
			return copy(data, "x"), nil
		}
	})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
}

// TestReleasedChecksumIsCurrent: released.txt has the checksum for the present sources of the fleet's program.
func TestReleasedChecksumIsCurrent(t *testing.T) {
	if runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		t.Skip("only programs for linux/amd64 are released")
	}
	root, err := checkoutRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archiveOf(checksums, filepath.Join(root, "e2e", "programs", fleetSet.name), fleetSet); err != nil {
		t.Errorf("%v: add the line that `go -C e2e run ./cmd/fleet archive ../bin/released` prints to e2e/fleet/released.txt", err)
	}
}
