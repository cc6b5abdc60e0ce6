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

// listedFolder is a folder in the first cell of a line of the layout.
var listedFolder = regexp.MustCompile("`([^`]+)`")

// layoutOfTheCode returns the content of each folder in the layout of docs/development.md.
func layoutOfTheCode(t *testing.T) map[string]string {
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
		for _, m := range listedFolder.FindAllStringSubmatch(cells[0], -1) {
			if out[m[1]] != "" {
				t.Errorf("the layout has two lines for %s", m[1])
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

// listedParents are the folders whose subfolders must be in the layout.
var listedParents = []string{
	"cmd", "cmd/towline-maestro/internal", "cmd/towline-source/internal", "controllers", "controllers/internal", "pkg",
}

// TestLayout: the layout in docs/development.md has each folder of listedParents, and no missing folder.
func TestLayout(t *testing.T) {
	listed := layoutOfTheCode(t)
	for _, parent := range listedParents {
		folders, err := os.ReadDir("../" + parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			if folder := parent + "/" + f.Name(); f.IsDir() && listed[folder] == "" && hasCode("../"+folder) {
				t.Errorf("the layout of docs/development.md does not have %s: add a line", folder)
			}
		}
	}
	for folder := range listed {
		if _, err := os.Stat("../" + folder); err != nil {
			t.Errorf("the layout of docs/development.md has %s: %v", folder, err)
		}
	}
}

// textsOf returns the texts of a folder's files, except tests.
func textsOf(t *testing.T, folder string) (texts string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no file: %v", folder, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts += string(text)
	}
	return texts
}

// mappedKinds are the kinds of objects in the map. mappedWord is a word in the form of a kind.
var (
	mappedKinds = regexp.MustCompile(`\b(Application|ApplicationReport|AppProject|ManagedCluster|ManifestWork|MulticlusterApplicationSetReport|` +
		`Placement|PlacementDecision|ApplicationSet|Secret)s?\b`)
	mappedWord = regexp.MustCompile(`\b(?:[A-Z][a-z]+){2,}\b`)
)

// verbsOf returns the verbs that a controller requests for a kind in its RBAC markers; empty without a marker.
func verbsOf(code, kind string) (verbs string) {
	marker := regexp.MustCompile(`\+kubebuilder:rbac:.*\bresources=(?:\S*;)?` + strings.ToLower(kind) + `s[;,].*verbs=(\S+)`)
	for _, m := range marker.FindAllStringSubmatch(code, -1) {
		verbs += m[1] + ";"
	}
	return verbs
}

// checkKinds checks that a controller uses the kinds in a cell of the map, and has one of the verbs in its RBAC markers. A
// controller without a marker for a kind has no rights of its own: then the code must name the kind.
func checkKinds(t *testing.T, controller, code, cell, verbs string) {
	t.Helper()
	for _, word := range mappedWord.FindAllString(cell, -1) {
		if !mappedKinds.MatchString(word) {
			t.Errorf("the map names %s for controllers/%s: add the kind to mappedKinds", word, controller)
		}
	}
	for _, m := range mappedKinds.FindAllStringSubmatch(cell, -1) {
		kind := m[1]
		requested := verbsOf(code, kind)
		if requested == "" && !regexp.MustCompile(`\.`+kind+`\b`).MatchString(code) {
			t.Errorf("the map names %s for controllers/%s, and the controller does not use this kind", kind, controller)
		}
		if requested != "" && !regexp.MustCompile(`\b(`+verbs+`)\b`).MatchString(requested) {
			t.Errorf("the map names %s for controllers/%s, and the controller has none of the verbs %s, but %s", kind, controller, verbs, requested)
		}
	}
}

// TestMapOfControllers: the map of one screen in docs/development.md has each controller. Each controller imports the packages
// of its row, and uses the kinds of its row.
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
	mapped, overview := map[string]bool{}, textsOf(t, "../controllers")
	for row := range strings.Lines(rows) {
		columns := []rune(row)
		if len(columns) <= writes || columns[0] == '─' {
			continue
		}
		name := strings.TrimSpace(string(columns[controller:asks]))
		mapped[name] = true
		if !strings.Contains(overview, "\n//\t"+name+" ") {
			t.Errorf("controllers/doc.go has no line for the controller %s", name)
		}
		code := textsOf(t, "../controllers/"+name)
		checkKinds(t, name, code, string(columns[:controller]), "get|list|watch")
		written, _, _ := strings.Cut(string(columns[writes:]), " with ") // the further words are about the content of the object
		checkKinds(t, name, code, written, "create|update|patch")
		for asked := range strings.SplitSeq(strings.TrimSpace(string(columns[asks:writes])), ", ") {
			if !strings.Contains(code, `"github.com/towline-io/towline/pkg/`+asked+`"`) {
				t.Errorf("the map says that controllers/%s asks pkg/%s, and no file of the program imports this package", name, asked)
			}
		}
	}
	for folder := range layoutOfTheCode(t) {
		name, is := strings.CutPrefix(folder, "controllers/")
		if is && !strings.Contains(name, "/") && name != "internal" && name != "envtest" && !mapped[name] {
			t.Errorf("the map has no line for the controller %s", name)
		}
	}
}

// TestProgramsHaveNoTestCode: no program imports a package that the layout of docs/development.md calls "tests only".
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
	for folder, content := range layoutOfTheCode(t) {
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
		t.Error("the layout has no package for tests only")
	}
}
