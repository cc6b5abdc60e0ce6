package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func serveGit(t *testing.T) *Git {
	t.Helper()
	port, err := allocator(t).take("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	server, err := startGit(t.Context(), dir, loopback(port), filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.stop)
	return &server.Git
}

func TestGitServesCommitsAndTags(t *testing.T) {
	g, ctx := serveGit(t), t.Context()
	clone := filepath.Join(t.TempDir(), "clone")
	if _, err := git(ctx, "", "clone", "--quiet", g.URL(AppsRepo), clone); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"guestbook/deployment.yaml", "kustomize-guestbook/overlays/prod/kustomization.yaml"} {
		if _, err := os.Stat(filepath.Join(clone, name)); err != nil {
			t.Error(err)
		}
	}
	if err := g.Tag(ctx, AppsRepo, "v1", ""); err != nil {
		t.Fatal(err)
	}
	first, err := g.Head(ctx, AppsRepo)
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.Commit(ctx, AppsRepo, map[string]string{"guestbook/new.yaml": "a: 1\n"}, "Add new")
	if err != nil || second == first || len(second) != 40 {
		t.Fatalf("got %q, %v", second, err)
	}
	if got, err := g.Read(ctx, AppsRepo, "guestbook/new.yaml"); err != nil || got != "a: 1" {
		t.Errorf("got %q, %v", got, err)
	}
	refs, err := git(ctx, "", "ls-remote", g.URL(AppsRepo))
	if err != nil || !strings.Contains(refs, second+"\trefs/heads/main") || !strings.Contains(refs, first+"\trefs/tags/v1") {
		t.Errorf("got %s, %v", refs, err)
	}
	if err := g.Tag(ctx, AppsRepo, "v1", second); err != nil {
		t.Errorf("moving a tag: %v", err)
	}
	if _, err := g.Remove(ctx, AppsRepo, []string{"guestbook/new.yaml"}, "Remove new"); err != nil {
		t.Error(err)
	}
	if _, err := g.Read(ctx, AppsRepo, "guestbook/new.yaml"); err == nil {
		t.Error("the file is still there")
	}
}

func TestGitTakesPushesAndCommitsOnTop(t *testing.T) {
	g, ctx := serveGit(t), t.Context()
	clone := filepath.Join(t.TempDir(), "clone")
	for _, args := range [][]string{
		{"clone", "--quiet", g.URL(AppsRepo), clone},
		{"-C", clone, "commit", "--quiet", "--allow-empty", "--message=By hand"},
		{"-C", clone, "push", "--quiet", "origin", "main"},
	} {
		if _, err := git(ctx, "", args...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Commit(ctx, AppsRepo, map[string]string{"x": "y"}, "By the fleet"); err != nil {
		t.Fatal(err)
	}
	log, err := git(ctx, g.bare(AppsRepo), "log", "--format=%s", "main")
	if err != nil || !strings.HasPrefix(log, "By the fleet\nBy hand\n") {
		t.Errorf("got %q, %v", log, err)
	}
}

func TestGitServesReferencesAndSubmodules(t *testing.T) {
	g, ctx := serveGit(t), t.Context()
	first, err := g.Head(ctx, AppsRepo)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Reference(ctx, AppsRepo, "refs/pull/7/head", first); err != nil {
		t.Fatal(err)
	}
	second, err := g.Submodule(ctx, AppsRepo, "lib", "../lib.git", first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Commit(ctx, AppsRepo, map[string]string{"new.yaml": "a: 1\n"}, "Add new"); err != nil {
		t.Fatal(err)
	}
	refs, err := git(ctx, "", "ls-remote", g.URL(AppsRepo))
	if err != nil || !strings.Contains(refs, first+"\trefs/pull/7/head") || strings.Contains(refs, second) {
		t.Errorf("got %s, %v", refs, err)
	}
	tree, err := git(ctx, g.bare(AppsRepo), "ls-tree", "main", "lib")
	if err != nil || !strings.HasPrefix(tree, "160000 commit "+first) {
		t.Errorf("got %s, %v", tree, err)
	}
	if modules, err := g.Read(ctx, AppsRepo, ".gitmodules"); err != nil || !strings.Contains(modules, "url = ../lib.git") {
		t.Errorf("got %s, %v", modules, err)
	}
}

func TestGitCommitsFromManySides(t *testing.T) {
	g := serveGit(t)
	var wait sync.WaitGroup
	for i := range 5 {
		wait.Go(func() {
			if _, err := g.Commit(t.Context(), AppsRepo, map[string]string{"n": string(rune('a' + i))}, "One of many"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	count, err := git(t.Context(), g.bare(AppsRepo), "rev-list", "--count", "main")
	if err != nil || count != "6" {
		t.Errorf("got %s commits, %v", count, err)
	}
}

func TestMissingGitIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := gitBackend(t.Context()); err == nil || !strings.Contains(err.Error(), "git is not on PATH") {
		t.Errorf("got %v", err)
	}
}
