package mutation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Target is a package for mutation.
type Target struct {
	// Package is the package's folder in the module.
	Package string

	// Files are the files to change; empty: all files.
	Files []string

	// Tests are the folders of the packages with the tests. The folders run in turn until a test fails. Empty: the
	// package's own folder.
	Tests []string
}

// Result is the result for a mutant.
type Result struct {
	Mutant

	// Noticed is true if a test has failed.
	Noticed bool

	// Reached is true if the tests execute the changed code.
	Reached bool
}

// minPatience is the minimum time limit for the tests of a package. A change may make the tests wait forever.
const minPatience = 10 * time.Second

// mutated is a package with all its mutants, compiled.
type mutated struct {
	root, work string
	mutants    []Mutant
	overlay    string
}

// Run tests all mutants of a target in the module at root, with parallel runs of the tests.
func Run(ctx context.Context, root string, t Target, parallel int) ([]Result, error) {
	work, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	m := &mutated{root: root, work: work}
	if err := m.rewrite(t); err != nil {
		return nil, err
	}
	out := make([]Result, len(m.mutants))
	for i := range out {
		out[i].Mutant = m.mutants[i]
	}
	tests := t.Tests
	if len(tests) == 0 {
		tests = []string{t.Package}
	}
	for _, dir := range tests {
		if err := m.try(ctx, dir, out, parallel); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rewrite writes the changed files of a package, and the overlay for the compiler.
func (m *mutated) rewrite(t Target) error {
	dir := filepath.Join(m.root, t.Package)
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for _, path := range names {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || len(t.Files) > 0 && !slices.Contains(t.Files, name) {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out, mutants, err := Rewrite(filepath.Join(t.Package, name), source, len(m.mutants)+1)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		m.mutants = append(m.mutants, mutants...)
		replace[path] = filepath.Join(m.work, name)
		if err := os.WriteFile(replace[path], out, 0o600); err != nil {
			return err
		}
	}
	if len(m.mutants) == 0 {
		return errors.New("nothing to change in " + dir)
	}
	added := filepath.Join(dir, "mutants_switched_by_environment.go")
	replace[added] = filepath.Join(m.work, "mutants.go")
	if err := os.WriteFile(replace[added], helper(filepath.Base(t.Package)), 0o600); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	m.overlay = filepath.Join(m.work, "overlay.json")
	return os.WriteFile(m.overlay, data, 0o600)
}

// try runs the tests of a folder for each mutant that the tests reach and that no earlier test has detected.
func (m *mutated) try(ctx context.Context, dir string, all []Result, parallel int) error {
	binary := filepath.Join(m.work, "tests-"+strings.ReplaceAll(dir, "/", "-"))
	build := exec.CommandContext(ctx, "go", "test", "-overlay", m.overlay, "-vet=off", "-c", "-o", binary, "./"+dir)
	build.Dir = m.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", dir, err, out)
	}
	at := filepath.Join(m.root, dir)
	reached := filepath.Join(m.work, "reached-"+filepath.Base(binary))
	start := time.Now()
	if out, ok := runTests(ctx, binary, at, time.Hour, "MUTANTS_REACHED="+reached); !ok {
		return fmt.Errorf("%s: the tests fail without any change:\n%s", dir, out)
	}
	patience := max(minPatience, 10*time.Since(start))
	ids, err := numbers(reached)
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	free := make(chan struct{}, parallel)
	for i := range all {
		r := &all[i]
		if r.Noticed || !ids[r.ID] {
			continue
		}
		r.Reached = true
		free <- struct{}{}
		wait.Go(func() {
			_, ok := runTests(ctx, binary, at, patience, "MUTANT="+strconv.Itoa(r.ID))
			r.Noticed = !ok
			<-free
		})
	}
	wait.Wait()
	return ctx.Err()
}

// runTests runs a test binary, and returns its output and whether all tests pass.
func runTests(ctx context.Context, binary, dir string, patience time.Duration, environment string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast")
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &out, &out, append(os.Environ(), environment)
	err := cmd.Run()
	return out.String(), err == nil
}

// numbers reads the numbers in a file, one on a line.
func numbers(path string) (map[int]bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the tests reach nothing that is changed: %w", err)
	}
	out := map[int]bool{}
	for word := range strings.FieldsSeq(string(data)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		out[n] = true
	}
	return out, nil
}
