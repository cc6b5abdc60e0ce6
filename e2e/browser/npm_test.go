package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// modules is the folder of the npm packages, or empty before their installation.
var modules string

// TestMain removes the folder of the npm packages.
func TestMain(m *testing.M) {
	code := m.Run()
	if modules != "" {
		_ = os.RemoveAll(modules)
	}
	os.Exit(code)
}

// packages installs the npm packages of package-lock.json once for all tests, and returns a function that reads their
// files. Without npm, the test is skipped, but fails in CI.
func packages(t *testing.T) (file func(path string) string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("npm is missing, which brings axe-core and React: apt-get install --no-install-recommends npm")
		}
		t.Skip("npm is missing, which brings axe-core and React: apt-get install --no-install-recommends npm")
	}
	if modules == "" {
		modules = bring(t)
	}
	return func(path string) string {
		data, err := os.ReadFile(filepath.Join(modules, "node_modules", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// bring installs the npm packages, and returns their folder.
func bring(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "towline-browser-") // the folder is for all tests
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Two versions of React in one folder cannot be peers of each other.
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--fetch-retries=5", "--legacy-peer-deps", "--prefer-offline",
		"--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}
