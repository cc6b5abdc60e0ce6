package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A gitServer serves repositories over smart HTTP by git's own backend.
type gitServer struct {
	Git
	server *http.Server
	log    *os.File
}

// gitBackend returns the path of git's HTTP backend, and an error if git or the backend is not installed.
func gitBackend(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", errors.New("git is not on PATH: install it (Debian and Ubuntu: apt-get install git)")
	}
	dir, err := git(ctx, "", "--exec-path")
	if err != nil {
		return "", err
	}
	backend := filepath.Join(dir, "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return "", fmt.Errorf("git has no http-backend (some distributions package it apart, as git-daemon): %w", err)
	}
	return backend, nil
}

func startGit(ctx context.Context, dir, address, logPath string) (*gitServer, error) {
	backend, err := gitBackend(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("git server: %w", err)
	}
	handler := &cgi.Handler{
		Path: backend, Dir: dir, Stderr: log,
		Env: append(gitEnvironment(), "GIT_PROJECT_ROOT="+filepath.Join(dir, "srv"), "GIT_HTTP_EXPORT_ALL=1"),
	}
	g := &gitServer{
		Git:    Git{dir: dir, url: "http://" + address},
		server: &http.Server{Handler: protect(filepath.Join(dir, "srv"), handler), ReadHeaderTimeout: 10 * time.Second},
		log:    log,
	}
	go func() { _ = g.server.Serve(listener) }()
	content, err := fs.Sub(repoContent, "repos/"+AppsRepo)
	if err == nil {
		err = g.Create(ctx, AppsRepo, content)
	}
	if err != nil {
		g.stop()
		return nil, fmt.Errorf("filling the Git server: %w", err)
	}
	return g, nil
}

// protect refuses requests for a protected repository without its account.
func protect(root string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		repo, _, _ := strings.Cut(strings.TrimPrefix(path.Clean(r.URL.Path), "/"), "/")
		account, err := os.ReadFile(filepath.Join(root, repo, accountFile))
		user, password, _ := r.BasicAuth()
		if err == nil && user+":"+password != string(account) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *gitServer) stop() {
	_ = g.server.Close()
	_ = g.log.Close()
}
