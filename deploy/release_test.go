package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// TestReleaseHasItsNotes: the workflow passes the release notes of CHANGELOG.md to GoReleaser. GoReleaser reads the
// notes in the changelog step. With a disabled changelog, GoReleaser skips the step without a message.
func TestReleaseHasItsNotes(t *testing.T) {
	workflow, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(workflow), "--release-notes ") {
		t.Error("the workflow hands over no notes")
	}
	data, err := os.ReadFile("../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Changelog struct {
			Disable any `json:"disable"`
		} `json:"changelog"`
		Release struct {
			ExtraFiles []struct {
				Glob string `json:"glob"`
			} `json:"extra_files"`
		} `json:"release"`
	}
	if err := sigsyaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	if config.Changelog.Disable != nil {
		t.Error("the changelog is disabled, and the notes with it")
	}
	krew := false
	for _, f := range config.Release.ExtraFiles {
		is, err := filepath.Match(f.Glob, "bin/release/krew/towline.yaml")
		if err != nil {
			t.Fatal(err)
		}
		krew = krew || is
	}
	if !krew {
		t.Error("GoReleaser uploads no manifest for krew by itself, and no extra file is one")
	}
}

// TestActionsArePinned: the workflows pin each action by the digest of a commit, with the version in a comment. All
// uses of an action have the same digest and version.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	pin, pins := regexp.MustCompile(`uses: (\S+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$`), map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, "uses: ") {
				continue
			}
			m := pin.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				t.Errorf("%s: %s", file, line)
				continue
			}
			if before := pins[m[1]]; before != "" && before != m[2] {
				t.Errorf("%s is %s and %s", m[1], before, m[2])
			}
			pins[m[1]] = m[2]
		}
	}
}
