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

// TestMapOfControllers: the map of one screen in docs/development.md has each controller, and each controller imports the
// packages that the controller asks.
func TestMapOfControllers(t *testing.T) {
	page, err := os.ReadFile("../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "\n## Map\n")
	_, block, _ = strings.Cut(block, "```\n")
	block, _, _ = strings.Cut(block, "```")
	if lines := strings.Count(block, "\n"); lines > 24 {
		t.Errorf("the map has %d lines, and a screen has 24", lines)
	}
	header, rows, _ := strings.Cut(block, "\n")
	controller, asks, writes := strings.Index(header, "controllers/"), strings.Index(header, "asks"), strings.Index(header, "what the controller writes")
	mapped := map[string]bool{}
	for row := range strings.Lines(rows) {
		columns := []rune(row)
		if len(columns) <= writes || columns[0] == '─' {
			continue
		}
		name := strings.TrimSpace(string(columns[controller:asks]))
		mapped[name] = true
		sources, err := filepath.Glob("../controllers/" + name + "/*.go")
		if err != nil || len(sources) == 0 {
			t.Errorf("the map has the controller %s, and controllers has not", name)
		}
		imported := ""
		for _, file := range sources {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			imported += string(source)
		}
		for asked := range strings.SplitSeq(strings.TrimSpace(string(columns[asks:writes])), ", ") {
			if !strings.Contains(imported, `"github.com/towline-io/towline/pkg/`+asked+`"`) {
				t.Errorf("the map says that controllers/%s asks pkg/%s, and no file imports this package", name, asked)
			}
		}
	}
	for folder := range mapOfTheCode(t) {
		name, is := strings.CutPrefix(folder, "controllers/")
		if is && !strings.Contains(name, "/") && name != "internal" && name != "envtest" && !mapped[name] {
			t.Errorf("the map has no line for the controller %s", name)
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
