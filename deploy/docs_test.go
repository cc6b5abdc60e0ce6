package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/fixture/documented"
)

// block is a fenced block of a page.
type block = documented.Block

// pages returns the text of the pages matching the patterns, by path from the root of the repository. A pattern without
// a page fails the test.
func pages(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	found, err := documented.Pages("..", patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// generated are the patterns of the pages generated from code.
var generated = []string{"docs/cli/*.md", "docs/reference/*.md"}

// TestDocumentedBlocks checks each block of the documentation by the kind of the block. Blocks with commands run with
// recorders, and the test then checks each command. The test decodes objects strictly. A block of an unknown kind fails
// the test.
func TestDocumentedBlocks(t *testing.T) {
	checks := map[string]func(*testing.T, block) int{
		"sh": checkShell, "console": checkConsole, "": checkConsole, "yaml": checkYAML,
		"mermaid": func(*testing.T, block) int { return 0 }, // The test does not check the content of a picture.
	}
	checked := map[string]int{}
	all := pages(t, documented.Written...)
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for _, b := range documented.Blocks(page, all[page]) {
			check := checks[b.Kind]
			if check == nil {
				t.Errorf("%s:%d: nothing checks a block of the kind %q", b.Page, b.Line, b.Kind)
				continue
			}
			checked[b.Kind] += check(t, b)
		}
	}
	t.Logf("checked: %v", checked)
	if checked["sh"] < 100 || checked["yaml"] < 15 {
		t.Errorf("there are fewer commands or objects than there were: %v", checked)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// anchors returns the anchors of a page's headings, by the rules of GitHub.
func anchors(text string) (found []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := strings.ToLower(linked.ReplaceAllString(m[1], "$1"))
		found = append(found, strings.ReplaceAll(dropped.ReplaceAllString(title, ""), " ", "-"))
	}
	return found
}

// TestDocumentedLinks: each link inside the repository leads to an existing file. A link with an anchor leads to a
// heading of the file.
func TestDocumentedLinks(t *testing.T) {
	all := pages(t, slices.Concat(documented.Written, generated)...)
	headings := map[string][]string{}
	for page, text := range all {
		headings[page] = anchors(text)
	}
	count := 0
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			count++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join("..", to)); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(headings[to], anchor) {
				t.Errorf("%s: %s has no heading #%s", page, to, anchor)
			}
		}
	}
	if count < 300 {
		t.Errorf("%d links were found: there were more", count)
	}
}

// TestDocumentedClones: each first page of a reader has the command to clone the repository. All commands have the address
// of the Go module.
func TestDocumentedClones(t *testing.T) {
	const command = "\ngit clone "
	want := command + repositoryURL(t) + ".git\n"
	all := pages(t, documented.Written...)
	for _, page := range []string{"README.md", "docs/try.md", "docs/install.md", "docs/kind.md", ".github/CONTRIBUTING.md"} {
		if !strings.Contains(all[page], want) {
			t.Errorf("%s does not have the command%s", page, want)
		}
	}
	for page, text := range all {
		if strings.Count(text, command) != strings.Count(text, want) {
			t.Errorf("%s clones another address than%s", page, want)
		}
	}
}
