package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDebianProgram(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"13", "15"} {
		dir := filepath.Join(root, version)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "keeper-of-works"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := debianProgram("keeper-of-works", "keeper", filepath.Join(root, "*"))
	if want := filepath.Join(root, "15", "keeper-of-works"); err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := debianProgram("keeper-of-works", "keeper"); err == nil || !strings.Contains(err.Error(), "install Debian's package keeper") {
		t.Errorf("got %v", err)
	}
}
