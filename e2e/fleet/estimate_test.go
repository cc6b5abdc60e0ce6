package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEstimate(t *testing.T) {
	e := &estimate{left: 420}
	if got := e.String(); got != "about 7 min left" {
		t.Errorf("before the first part: %q", got)
	}
	e.built(60, 3*60*time.Second)
	if got, want := e.remaining(), 2*360*time.Second; got != want {
		t.Errorf("on a slow machine: %v, want %v", got, want)
	}
	e.built(360, 0)
	if got := e.String(); got != "less than a minute left" {
		t.Errorf("after the last part: %q", got)
	}
}

// TestEstimateCountsMissingPrograms checks that a program of the cache has no share.
func TestEstimateCountsMissingPrograms(t *testing.T) {
	source, set := tinyModule(t)
	var progress bytes.Buffer
	b := Builder{CacheDir: t.TempDir(), SourceDir: source, Progress: &progress}
	before, err := b.newEstimate([]programSet{set})
	if err != nil || before.left != unknownSeconds {
		t.Errorf("before the build: %v, %v", before, err)
	}
	if _, err := b.build(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), "\nbuilding tiny (1 of 1): ") {
		t.Errorf("got %q", progress.String())
	}
	if after, err := b.newEstimate([]programSet{set}); err != nil || after.left != 0 {
		t.Errorf("after the build: %v, %v", after, err)
	}
}

// TestFailedBuildContinues: the first build compiles the package first, and fails at the package second. The next build takes
// the package first from Go's cache. An interrupted build leaves its compiled packages in the same way. The names in the
// packages are unique, so that Go's cache has no package of an earlier test.
func TestFailedBuildContinues(t *testing.T) {
	source, set := tinyModule(t)
	write := func(file, text string) {
		path := filepath.Join(source, "tiny", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	unique := fmt.Sprintf("%q", t.TempDir())
	write("first/first.go", "package first\n\nconst Name = "+unique+"\n")
	write("second/second.go", "package second\n\nimport \"example.com/tiny/first\"\n\nconst Name = first.Nobody\n")
	write("main.go", "package main\n\nimport \"example.com/tiny/second\"\n\nfunc main() { println(second.Name, "+unique+") }\n")
	b := Builder{CacheDir: t.TempDir(), SourceDir: source}
	if _, err := b.build(t.Context(), set); err == nil || !strings.Contains(err.Error(), "Nobody") {
		t.Fatalf("the build of a broken package: %v", err)
	}
	write("second/second.go", "package second\n\nimport \"example.com/tiny/first\"\n\nconst Name = first.Name\n")
	if c := compilationOf(t, source, set); c.all < 3 || c.missing != 2 {
		t.Errorf("after the failed build: %d of %d packages are missing, want 2", c.missing, c.all)
	}
	if _, err := b.build(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if c := compilationOf(t, source, set); c.missing > 1 || c.left >= unknownSeconds/2 {
		t.Errorf("after a build: %v", c)
	}
}

func compilationOf(t *testing.T, source string, set programSet) *compilation {
	t.Helper()
	dir := filepath.Join(source, set.name)
	flags, err := set.flags(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCompilation(t.Context(), dir, flags, set.programs[0], &estimate{left: unknownSeconds})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompilationTellsTheRest checks that each line of the compiler counts as a package.
func TestCompilationTellsTheRest(t *testing.T) {
	var progress bytes.Buffer
	c := &compilation{estimate: &estimate{left: 600}, progress: &progress, name: "x", all: 4, missing: 3, seconds: 150, last: time.Now()}
	if _, err := c.Write([]byte("a\nb\n")); err != nil {
		t.Fatal(err)
	}
	if got := progress.String(); !strings.HasPrefix(got, "building x: 3 of 4 packages, ") {
		t.Errorf("got %q", got)
	}
	if c.left != 300 {
		t.Errorf("%v s left", c.left)
	}
}

func TestEveryProgramHasAnEstimate(t *testing.T) {
	for _, set := range allSets() {
		for _, prog := range set.programs {
			if coldSeconds[prog.name] == 0 {
				t.Errorf("coldSeconds lacks %s", prog.name)
			}
		}
	}
}
