// Package gittest is for tests only: a Git server over HTTP with a password, and a git client.
package gittest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/cgi" //nolint:gosec // for tests, with a new Go
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// User and Password are the account of the server.
const (
	User     = "hub"
	Password = "pass word"
)

// Server serves a repository by git's own program git-http-backend.
type Server struct {
	*testing.T

	// URL is the address of the repository.
	URL string

	// Requests counts the requests for packs and for references.
	Packs, Refs atomic.Int32

	// Asked has a function for each request; nil for nothing.
	Asked atomic.Pointer[func()]

	// Down makes the server answer each request with 503.
	Down atomic.Bool

	// Hang makes the server answer no request, and HangPacks makes the server stop in the middle of each pack, until Resume.
	Hang, HangPacks atomic.Bool

	// CutPacks makes the server break the connection in the middle of each pack.
	CutPacks atomic.Bool

	bare, work string
	resumed    chan struct{}
}

// cutting waits in the middle of a pack, and then breaks the connection.
type cutting struct {
	http.ResponseWriter
	wait func()
}

// Write implements io.Writer.
func (c cutting) Write(p []byte) (int, error) {
	if i := bytes.Index(p, []byte("PACK")); i >= 0 {
		_, _ = c.ResponseWriter.Write(p[:i+4])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		c.wait()
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// New returns a server with a repository of one commit: the file "a" on the branch main.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{T: t, bare: filepath.Join(t.TempDir(), "apps.git"), work: t.TempDir(), resumed: make(chan struct{})}
	Git(t, "", "init", "--quiet", "--bare", "--initial-branch=main", s.bare)
	Git(t, s.bare, "config", "http.uploadpack", "true")
	Git(t, s.work, "init", "--quiet", "--initial-branch=main")
	s.Commit("a", "1")
	backend := filepath.Join(strings.TrimSpace(Git(t, "", "--exec-path")), "git-http-backend")
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(s.bare), "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := s.Asked.Load(); asked != nil {
			(*asked)()
		}
		user, password, _ := r.BasicAuth()
		switch {
		case s.Hang.Load():
			s.wait(r)
			panic(http.ErrAbortHandler)
		case s.Down.Load():
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		case user != User || password != Password:
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		case strings.HasSuffix(r.URL.Path, "git-upload-pack"):
			s.Packs.Add(1)
			switch {
			case s.HangPacks.Load():
				w = cutting{w, func() { s.wait(r) }}
			case s.CutPacks.Load():
				w = cutting{w, func() {}}
			}
		default:
			s.Refs.Add(1)
		}
		if p := r.Header.Get("Git-Protocol"); p != "" {
			protocol := *handler
			protocol.Env = append(protocol.Env[:2:2], "GIT_PROTOCOL="+p)
			protocol.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/apps.git"
	return s
}

// Resume ends Hang and HangPacks, once. The waiting connections break.
func (s *Server) Resume() {
	s.Hang.Store(false)
	s.HangPacks.Store(false)
	close(s.resumed)
}

// wait waits for the end of a request, for Resume, or for the end of the test.
func (s *Server) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.resumed:
	case <-s.Context().Done():
	}
}

// Commit commits a file on the branch main, pushes, and returns the commit.
func (s *Server) Commit(file, text string) string {
	s.Helper()
	s.Prepare(file, text)
	return s.Push("HEAD:refs/heads/main")
}

// Prepare commits a file without a push, and returns the commit.
func (s *Server) Prepare(file, text string) string {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.work, file), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	Git(s.T, s.work, "add", file)
	Git(s.T, s.work, "commit", "--quiet", "--message", file)
	return strings.TrimSpace(Git(s.T, s.work, "rev-parse", "HEAD"))
}

// Push pushes a refspec by force, and returns the commit of HEAD.
func (s *Server) Push(spec string) string {
	s.Helper()
	Git(s.T, s.work, "push", "--quiet", "--force", s.bare, spec)
	return strings.TrimSpace(Git(s.T, s.work, "rev-parse", "HEAD"))
}

// Rewind takes back the last commit of the branch main by a force push, and returns the commit of HEAD.
func (s *Server) Rewind() string {
	s.Helper()
	Git(s.T, s.work, "reset", "--quiet", "--hard", "HEAD~1")
	return s.Push("HEAD:refs/heads/main")
}

// Git runs git in a folder, and returns the output. A failure ends the test.
func Git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := Try(t.Context(), dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Try runs git in a folder, and returns the output with the error output.
func Try(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // for tests
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
