package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// TestWorkflowsRunTargets: the Makefile has each target of a workflow's one-line `make` command, and .ci has each script. A
// renamed target would stop the nightly suites, and no pull request would show the failure. make runs a common prerequisite
// only once, so a command has at most one target of the end-to-end suite.
func TestWorkflowsRunTargets(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)(?:run|command): (make|\.ci/)([^,}$\n]*)`)
	n := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(data), -1) {
			if m[1] != "make" {
				if _, err := os.Stat("../.ci/" + strings.Fields(m[2])[0]); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				continue
			}
			suites := 0
			for word := range strings.FieldsSeq(m[2]) {
				if word == "e2e" || strings.HasPrefix(word, "e2e-") {
					suites++
				}
				if strings.Contains(word, "=") {
					continue
				}
				n++
				if !strings.Contains(string(makefile), "\n"+word+": ") {
					t.Errorf("%s: the Makefile has no target %s", file, word)
				}
			}
			if suites > 1 {
				t.Errorf("%s: make %s runs the suite only once", file, m[2])
			}
		}
	}
	if n < 25 {
		t.Errorf("the workflows have only %d targets: there were more", n)
	}
}

// TestReleaseHasAllImages: a release pushes, signs and attests each image of the Dockerfile.
func TestReleaseHasAllImages(t *testing.T) {
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	images := regexp.MustCompile(`(?s)LABEL org\.opencontainers\.image\.title="([^"]+)"`).FindAllStringSubmatch(string(dockerfile), -1)
	if len(images) != 3 {
		t.Fatalf("the Dockerfile has the images %q", images)
	}
	for _, image := range images {
		name := strings.TrimPrefix(strings.ToLower(image[1]), "towline-")
		target, repository := "image-"+name, `"$REPOSITORY-`+name+`"`
		if name == "towline" {
			target, repository = "image", `"$REPOSITORY"`
		}
		for _, part := range []string{
			"- id: " + name + "\n", ".ci/release-image " + target + " " + repository + ` "$GITHUB_REF_NAME"`, strings.ToUpper(name) + ": ${{ steps." + name,
			`"$` + strings.ToUpper(name) + `"`, "subject-digest: ${{ steps." + name + ".outputs.digest }}",
		} {
			if !strings.Contains(string(workflow), part) {
				t.Errorf("the workflow has no %q", part)
			}
		}
	}
}

// TestImageHasTheVersionOfItsTag: `make image` compiles the tag of the image into the programs, because the check of
// versions in `kubectl towline check` and `helm test` compares the plugin's version with the tag.
func TestImageHasTheVersionOfItsTag(t *testing.T) {
	const other = "v9.9.9" // stands for the version of git
	for image, want := range map[string]string{
		"registry.example:5000/towline:v0.1.0":            "v0.1.0",
		"registry.example/team/towline:v0.1.0@sha256:abc": "v0.1.0",
		"towline:dev":                        "dev",
		"towline:latest":                     other,
		"registry.example:5000/team/towline": other,
	} {
		for _, target := range []string{"image", "image-maestro", "image-source"} {
			run := exec.CommandContext(t.Context(), "make", "--dry-run", "--eval=VERSION := "+other, target, "IMAGE="+image)
			run.Dir, run.Env = "..", slices.DeleteFunc(os.Environ(), func(v string) bool {
				// With the flags of an outer make, its VERSION would count as one of the command line.
				return slices.ContainsFunc([]string{"VERSION=", "MAKEFLAGS=", "MFLAGS=", "MAKEOVERRIDES="}, func(name string) bool {
					return strings.HasPrefix(v, name)
				})
			})
			out, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), " --build-arg VERSION="+want+" --tag "+image+" ") {
				t.Errorf("make %s IMAGE=%s does not compile %s in:\n%s", target, image, want, out)
			}
		}
	}
	run := exec.CommandContext(t.Context(), "make", "--dry-run", "image", "IMAGE=towline:v1", "VERSION="+other)
	run.Dir = ".."
	if out, err := run.Output(); err != nil || !strings.Contains(string(out), "VERSION="+other+" ") {
		t.Errorf("VERSION on the command line does not override the tag: %v\n%s", err, out)
	}
}

// TestDockerfileCompilesTheVersionIn: each build of the Dockerfile sets the variable version, and each built program has
// the variable.
func TestDockerfileCompilesTheVersionIn(t *testing.T) {
	data, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	builds := regexp.MustCompile(`(?m)^ +go .*build .*$`).FindAllString(string(data), -1)
	if len(builds) != 3 {
		t.Fatalf("%d builds in the Dockerfile, not 3", len(builds))
	}
	for _, build := range builds {
		if !strings.Contains(build, "-X main.version=${VERSION}") {
			t.Errorf("a build without the version: %s", build)
		}
		for _, folder := range regexp.MustCompile(`cmd/[a-z-]+`).FindAllString(build, -1) {
			main, err := os.ReadFile(filepath.Join("..", folder, "main.go"))
			if err != nil || !regexp.MustCompile(`(?m)^var version = "dev"$`).Match(main) {
				t.Errorf("%s has no variable for the version: %v", folder, err)
			}
		}
	}
}
