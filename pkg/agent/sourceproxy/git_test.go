package sourceproxy

import (
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// workspace has a Git server's repository, and Argo CD's side of the proxy.
type workspace struct {
	*started
	origin string
	env    []string
}

// withGit starts a proxy. The hub serves the repository "apps" by git's own HTTP backend.
func withGit(t *testing.T) *workspace {
	t.Helper()
	dir := t.TempDir()
	w := &workspace{origin: filepath.Join(dir, "origin"), env: append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HOME="+dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	)}
	w.run(t, "init", "--quiet", "--initial-branch=main", w.origin)
	w.commit(t, "first")
	backend := filepath.Join(w.run(t, "--exec-path"), "git-http-backend")
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + dir}}
	const prefix = "/apis/source.apps.open-cluster-management.io/v1alpha1/namespaces/cluster1/repositories/apps/proxy"
	w.started = start(t, func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix+"/") {
			http.NotFound(rw, r)
			return
		}
		r.URL.Path = "/origin/.git" + strings.TrimPrefix(r.URL.Path, prefix)
		r.Header.Set("Git-Protocol", r.Header.Get("Git-Protocol"))
		handler.ServeHTTP(rw, r)
	})
	certificates, err := w.identity.current().authorities.certificates()
	if err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(dir, "trusted.pem")
	if err := os.WriteFile(trusted, certificates, 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "GIT_SSL_CAINFO="+trusted)
	return w
}

// run runs git, and returns the output.
func (w *workspace) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.try(t, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *workspace) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// commit adds a commit to the Git server's repository, and returns the hash.
func (w *workspace) commit(t *testing.T, message string) string {
	t.Helper()
	w.run(t, "-C", w.origin, "commit", "--quiet", "--allow-empty", "--message", message)
	return w.run(t, "-C", w.origin, "rev-parse", "HEAD")
}

// address returns the address of a repository, with the password.
func (w *workspace) address(repository string) string {
	return strings.Replace(w.url, "https://", "https://"+Username+":"+password+"@", 1) + "/" + repository
}

// TestGit reads a repository with the git CLI, by both versions of Git's protocol.
func TestGit(t *testing.T) {
	for _, version := range []string{"0", "2"} {
		t.Run("protocol "+version, func(t *testing.T) {
			t.Parallel()
			w := withGit(t)
			w.env = append(w.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.version", "GIT_CONFIG_VALUE_0="+version)
			clone, repository := filepath.Join(t.TempDir(), "clone"), w.address("apps")
			w.run(t, "clone", "--quiet", repository, clone)

			second := w.commit(t, "second")
			w.run(t, "-C", w.origin, "tag", "v1")
			w.run(t, "-C", clone, "fetch", "--quiet", "origin", "--tags", "--force", "--prune")
			if got := w.run(t, "-C", clone, "rev-parse", "origin/main", "v1"); got != second+"\n"+second {
				t.Errorf("fetched %s, want %s", got, second)
			}
			third := w.commit(t, "third")
			w.run(t, "-C", clone, "fetch", "--quiet", "origin", third, "--depth", "1", "--force", "--prune")
			if got := w.run(t, "-C", clone, "rev-parse", "FETCH_HEAD"); got != third {
				t.Errorf("fetched %s, want %s", got, third)
			}
			if out, err := w.try(t, "-C", clone, "push", "--quiet", "origin", "HEAD:refs/heads/new"); err == nil || !strings.Contains(out, "403") {
				t.Errorf("a push: %v, %s", err, out)
			}
			if out, err := w.try(t, "ls-remote", w.address("other")); err == nil || !strings.Contains(out, "not found") {
				t.Errorf("another repository: %v, %s", err, out)
			}
			out, err := w.try(t, "ls-remote", strings.Replace(repository, password, "wrong", 1))
			if err == nil || !strings.Contains(out, "Authentication failed") {
				t.Errorf("a wrong password: %v, %s", err, out)
			}

			known := w.run(t, "ls-remote", repository)
			if !strings.HasPrefix(known, third) {
				t.Errorf("ls-remote: %s", known)
			}
			w.hub.Close()
			if got := w.run(t, "ls-remote", repository); got != known {
				t.Errorf("ls-remote without the hub: %s, want %s", got, known)
			}
			if out, err := w.try(t, "clone", "--quiet", repository, filepath.Join(t.TempDir(), "clone")); err == nil {
				t.Errorf("a clone without the hub: %s", out)
			}
		})
	}
}

// TestLargeRepository clones a repository of some megabytes, which git also compresses in a large request.
func TestLargeRepository(t *testing.T) {
	w := withGit(t)
	data := make([]byte, 8<<20)
	for i, x := 0, uint32(1); i < len(data); i++ { // incompressible bytes
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		data[i] = byte(x)
	}
	if err := os.WriteFile(filepath.Join(w.origin, "data"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(t, "-C", w.origin, "add", "data")
	want := w.commit(t, "data")
	for i := range 50 {
		w.run(t, "-C", w.origin, "branch", "branch-"+strings.Repeat("x", i+1))
	}
	clone := filepath.Join(t.TempDir(), "clone")
	w.run(t, "clone", "--quiet", w.address("apps"), clone)
	if got := w.run(t, "-C", clone, "rev-parse", "HEAD"); got != want {
		t.Errorf("cloned %s, want %s", got, want)
	}
}
