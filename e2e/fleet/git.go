package fleet

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed all:repos
var repoContent embed.FS

// AppsRepo is a repository of every fleet. Its folders are guestbook (plain manifests) and kustomize-guestbook (a base,
// and the overlays dev and prod).
const AppsRepo = "apps"

// Git is the fleet's Git server. Clusters fetch from the server over HTTP.
type Git struct {
	dir, url string
}

// URL returns the address of a repository, for fetches and pushes.
func (g *Git) URL(repo string) string { return g.url + "/" + repo + ".git" }

// Create makes a repository with the given content on branch main.
func (g *Git) Create(ctx context.Context, repo string, content fs.FS) error {
	bare := g.bare(repo)
	if _, err := git(ctx, "", "init", "--bare", "--quiet", "--initial-branch=main", bare); err != nil {
		return err
	}
	for _, setting := range []string{"http.receivepack=true", "uploadpack.allowAnySHA1InWant=true"} {
		key, value, _ := strings.Cut(setting, "=")
		if _, err := git(ctx, bare, "config", key, value); err != nil {
			return err
		}
	}
	if _, err := git(ctx, "", "clone", "--quiet", bare, g.work(repo)); err != nil {
		return err
	}
	if err := os.CopyFS(g.work(repo), content); err != nil {
		return err
	}
	_, err := g.commit(ctx, repo, "Add "+repo)
	return err
}

// Commit writes files (path to content) on branch main, and returns the new revision.
func (g *Git) Commit(ctx context.Context, repo string, files map[string]string, message string) (string, error) {
	return g.change(ctx, repo, message, func(work string) error {
		for name, content := range files {
			path := filepath.Join(work, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// Remove deletes files or folders on branch main, and returns the new revision.
func (g *Git) Remove(ctx context.Context, repo string, names []string, message string) (string, error) {
	return g.change(ctx, repo, message, func(work string) error {
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(work, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read returns the content of a file on branch main.
func (g *Git) Read(ctx context.Context, repo, name string) (string, error) {
	return git(ctx, g.bare(repo), "show", "main:"+name)
}

// Head returns the revision of branch main.
func (g *Git) Head(ctx context.Context, repo string) (string, error) {
	return git(ctx, g.bare(repo), "rev-parse", "main")
}

// Tag points a tag to a revision, or to main if the revision is empty. It also moves an existing tag.
func (g *Git) Tag(ctx context.Context, repo, tag, revision string) error {
	_, err := git(ctx, g.bare(repo), "tag", "--force", tag, orMain(revision))
	return err
}

// Branch points a branch to a revision, or to main if the revision is empty. It also moves an existing branch.
func (g *Git) Branch(ctx context.Context, repo, branch, revision string) error {
	_, err := git(ctx, g.bare(repo), "branch", "--force", branch, orMain(revision))
	return err
}

// Reference points a full reference, for example refs/pull/7/head, to a revision. It also moves an existing reference.
func (g *Git) Reference(ctx context.Context, repo, reference, revision string) error {
	_, err := git(ctx, g.bare(repo), "update-ref", reference, revision)
	return err
}

// Submodule adds a submodule at a revision to branch main, and returns the new revision. address is the submodule's address in
// the file .gitmodules.
func (g *Git) Submodule(ctx context.Context, repo, path, address, revision string) (string, error) {
	return g.change(ctx, repo, "Add "+path, func(work string) error {
		for _, args := range [][]string{
			{"config", "--file=.gitmodules", "submodule." + path + ".path", path},
			{"config", "--file=.gitmodules", "submodule." + path + ".url", address},
			{"update-index", "--add", "--cacheinfo", "160000," + revision + "," + path},
		} {
			if _, err := git(ctx, work, args...); err != nil {
				return err
			}
		}
		return os.MkdirAll(filepath.Join(work, path), 0o755) // without the folder, the commit removes the submodule
	})
}

// Protect makes a repository require a user and a password from now on. It also replaces an earlier account.
func (g *Git) Protect(repo, user, password string) error {
	return os.WriteFile(filepath.Join(g.bare(repo), accountFile), []byte(user+":"+password), 0o600)
}

// accountFile, in a repository on the server, has the required user and password. It is a file because the server and
// the tests may be different processes.
const accountFile = "towline-account"

func orMain(revision string) string {
	if revision == "" {
		return "main"
	}
	return revision
}

// change updates a clone, edits, commits and pushes. Several processes may call change at the same time.
func (g *Git) change(ctx context.Context, repo, message string, edit func(work string) error) (string, error) {
	unlock, err := lockFile(ctx, filepath.Join(g.dir, repo+".lock"), func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	work := g.work(repo)
	if _, err := git(ctx, work, "fetch", "--quiet", "origin", "main"); err != nil {
		return "", err
	}
	if _, err := git(ctx, work, "reset", "--quiet", "--hard", "FETCH_HEAD"); err != nil {
		return "", err
	}
	if err := edit(work); err != nil {
		return "", err
	}
	return g.commit(ctx, repo, message)
}

func (g *Git) commit(ctx context.Context, repo, message string) (string, error) {
	for _, args := range [][]string{
		{"add", "--all"},
		{"commit", "--quiet", "--allow-empty", "--message=" + message},
		{"push", "--quiet", "origin", "HEAD:refs/heads/main"},
	} {
		if _, err := git(ctx, g.work(repo), args...); err != nil {
			return "", err
		}
	}
	return g.Head(ctx, repo)
}

func (g *Git) bare(repo string) string { return filepath.Join(g.dir, "srv", repo+".git") }
func (g *Git) work(repo string) string { return filepath.Join(g.dir, "work", repo) }

// git runs the git program without the user's own settings.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gitEnvironment()...)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func gitEnvironment() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Towline Fleet", "GIT_AUTHOR_EMAIL=fleet@towline.io",
		"GIT_COMMITTER_NAME=Towline Fleet", "GIT_COMMITTER_EMAIL=fleet@towline.io",
	}
}
