package deploy_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mappedFolder is a folder in the first cell of a line of the map.
var mappedFolder = regexp.MustCompile("`([^`]+)`")

// mapOfTheCode returns the content of each folder in the map of docs/development.md.
func mapOfTheCode(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	_, layout, _ := strings.Cut(string(page), "\n## Layout\n")
	layout, _, _ = strings.Cut(layout, "\n## ")
	out := map[string]string{}
	for line := range strings.Lines(layout) {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, m := range mappedFolder.FindAllStringSubmatch(cells[0], -1) {
			if out[m[1]] != "" {
				t.Errorf("the map has two lines for %s", m[1])
			}
			out[m[1]] = cells[1]
		}
	}
	return out
}

// hasCode returns true if a file of Go is in the folder or below. Git leaves empty folders behind.
func hasCode(folder string) bool {
	found := false
	_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, _ error) error {
		if filepath.Ext(path) == ".go" {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// mappedParents are the folders whose subfolders must be in the map.
var mappedParents = []string{
	"cmd", "cmd/towline-maestro/internal", "cmd/towline-source/internal", "controllers", "controllers/internal", "pkg",
}

// TestMapOfTheCode: the map in docs/development.md has each folder of mappedParents, and no missing folder.
func TestMapOfTheCode(t *testing.T) {
	mapped := mapOfTheCode(t)
	for _, parent := range mappedParents {
		folders, err := os.ReadDir("../" + parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			if folder := parent + "/" + f.Name(); f.IsDir() && mapped[folder] == "" && hasCode("../"+folder) {
				t.Errorf("the map of docs/development.md does not have %s: add a line", folder)
			}
		}
	}
	for folder := range mapped {
		if _, err := os.Stat("../" + folder); err != nil {
			t.Errorf("the map of docs/development.md has %s: %v", folder, err)
		}
	}
}

// TestProgramsHaveNoTestCode: no program imports a package that the map of docs/development.md calls "tests only".
func TestProgramsHaveNoTestCode(t *testing.T) {
	var imported string
	for _, module := range []string{"..", "../cmd/towline-maestro", "../cmd/towline-source"} {
		packages := "."
		if module == ".." {
			packages = "./cmd/..."
		}
		out, err := exec.CommandContext(t.Context(), "go", "-C", module, "list", "-deps", packages).Output()
		if err != nil {
			t.Fatal(module, err)
		}
		imported += string(out) + "\n"
	}
	found := 0
	for folder, content := range mapOfTheCode(t) {
		if !strings.HasPrefix(content, "tests only: ") {
			continue
		}
		found++
		path := "github.com/towline-io/towline/" + folder
		if strings.Contains(imported, path+"\n") || strings.Contains(imported, path+"/") {
			t.Errorf("a program imports %s, which only tests may import", folder)
		}
	}
	if found == 0 {
		t.Error("the map has no package for tests only")
	}
}
