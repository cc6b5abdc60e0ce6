package deploy_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// byHand has the folders of modules whose versions are chosen by hand, each with the reason.
var byHand = map[string]string{
	"/e2e/programs/*": "the versions of the fleet's programs are the versions that Towline supports",
	"/e2e/contract":   "its versions are the versions of the fleet's Argo CD",
}

// TestDependabotSeesEachModule: dependabot updates each Go module of the repository except the modules with versions
// chosen by hand, each folder with packages of npm, and each folder with a Dockerfile with a base image.
func TestDependabotSeesEachModule(t *testing.T) {
	data, err := os.ReadFile("../.github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directory   string   `json:"directory"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := sigsyaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	seen := map[string][]string{}
	for _, u := range config.Updates {
		seen[u.Ecosystem] = append(seen[u.Ecosystem], u.Directories...)
		if u.Directory != "" {
			seen[u.Ecosystem] = append(seen[u.Ecosystem], u.Directory)
		}
	}
	modules := foldersWith(t, "go.mod")
	if len(modules) < 3 {
		t.Fatalf("found the modules %v", modules)
	}
	for _, folder := range modules {
		chosen := false
		for pattern := range byHand {
			chosen = chosen || matches(t, []string{pattern}, folder)
		}
		if updated := matches(t, seen["gomod"], folder); updated == chosen {
			t.Errorf("%s/go.mod: dependabot updates the module: %t, and the versions are chosen by hand: %t", folder, updated, chosen)
		}
	}
	for _, folder := range foldersWith(t, "package.json") {
		if !matches(t, seen["npm"], folder) {
			t.Errorf("dependabot does not update %s/package.json", folder)
		}
	}
	for _, folder := range foldersWith(t, "Dockerfile") {
		file, err := os.ReadFile(filepath.Join("..", folder, "Dockerfile"))
		if err != nil {
			t.Fatal(err)
		}
		if based := strings.Contains(string(file), "@sha256:"); based && !matches(t, seen["docker"], folder) {
			t.Errorf("dependabot does not update %s/Dockerfile", folder)
		}
	}
	for ecosystem, folders := range seen {
		for _, folder := range folders {
			found, err := filepath.Glob(filepath.Join("..", folder))
			if err != nil || len(found) == 0 {
				t.Errorf("%s: no folder %s: %v", ecosystem, folder, err)
			}
		}
	}
}

// listedModules returns the folders in a variable of the Makefile.
func listedModules(t *testing.T, variable string) []string {
	t.Helper()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^` + variable + ` := (.+)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatalf("the Makefile has no %s", variable)
	}
	return strings.Fields(string(list[1]))
}

// TestTidyUpdatesImporters: `make tidy` updates each module that imports Towline. After an update of Towline's requirements, Go
// refuses to build a module with older requirements.
func TestTidyUpdatesImporters(t *testing.T) {
	updated := slices.Concat(listedModules(t, "MODULES"), listedModules(t, "FOLLOWERS"))
	importers := 0
	for _, folder := range foldersWith(t, "go.mod") {
		module := strings.TrimPrefix(folder, "/")
		if requirements(t, module)["github.com/towline-io/towline"] == "" {
			continue
		}
		importers++
		if !slices.Contains(updated, module) {
			t.Errorf("%s/go.mod: the module imports Towline, so add the folder to MODULES or FOLLOWERS in the Makefile", module)
		}
	}
	if importers < 3 {
		t.Errorf("found %d modules that import Towline: is the form of go.mod different?", importers)
	}
}

// TestModulesAgree: the modules of the Makefile's MODULES have the same version of each shared dependency.
func TestModulesAgree(t *testing.T) {
	versions, shared := map[string]string{}, 0
	for _, module := range listedModules(t, "MODULES") {
		for dependency, version := range requirements(t, module) {
			if other := versions[dependency]; other != "" {
				shared++
				if other != version {
					t.Errorf("%s/go.mod has %s %s, and another module has %s: run `make tidy`, and commit the result", module, dependency, version, other)
				}
			}
			versions[dependency] = version
		}
	}
	if shared < 100 {
		t.Errorf("the modules share %d dependencies: is the form of go.mod different?", shared)
	}
}

// foldersWith returns the folders of the repository with the named file, as dependabot writes folders.
func foldersWith(t *testing.T, name string) (found []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "node_modules", ".fleet"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && entry.Name() == name {
			found = append(found, path.Clean("/"+strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "..")))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func matches(t *testing.T, patterns []string, folder string) bool {
	t.Helper()
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		is, err := path.Match(pattern, folder)
		if err != nil {
			t.Fatal(err)
		}
		return is
	})
}
