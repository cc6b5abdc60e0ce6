package fleet

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tinyModule returns a set with a single program that builds without the network.
func tinyModule(t *testing.T) (source string, set programSet) {
	t.Helper()
	source = t.TempDir()
	dir := filepath.Join(source, "tiny")
	if err := os.MkdirAll(filepath.Join(dir, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": "module example.com/tiny\n\ngo 1.26\n", "go.sum": "", "main.go": "package main\n\nfunc main() {}\n",
		"manifests/a.yaml": "a: 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return source, programSet{
		name: "tiny", programs: []program{{"tiny", "example.com/tiny"}}, links: []string{"tiny-alias"},
		manifests: []manifest{{"example.com/tiny", "manifests/*.yaml", "crds"}},
	}
}

func TestBuildOnceByTwoBuilders(t *testing.T) {
	source, set := tinyModule(t)
	cache := t.TempDir()
	var mu sync.Mutex
	var progress bytes.Buffer
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			var out bytes.Buffer
			b := Builder{CacheDir: cache, SourceDir: source, Progress: &out}
			programs, err := b.build(t.Context(), set)
			mu.Lock()
			defer mu.Unlock()
			progress.Write(out.Bytes())
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range []string{"tiny", "tiny-alias"} {
				if info, err := os.Stat(programs.Path(name)); err != nil || info.Mode()&0o111 == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
			if files, err := programs.manifests(set, "crds"); err != nil || len(files) != 1 {
				t.Errorf("manifests %v, %v", files, err)
			}
		})
	}
	wait.Wait()
	if n := strings.Count(progress.String(), "built tiny in"); n != 1 {
		t.Errorf("built %d times:\n%s", n, progress.String())
	}
}

// TestManifestsOfAMissingModule checks that a module with manifests, and without a built program, is downloaded.
func TestManifestsOfAMissingModule(t *testing.T) {
	source, set := tinyModule(t)
	proxy := t.TempDir()
	versions := filepath.Join(proxy, "example.com", "manifests", "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for _, name := range []string{"go.mod", "manifests/b.yaml"} {
		file, err := writer.Create("example.com/manifests@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("module example.com/manifests\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(versions, "v1.0.0.info"):  `{"Version": "v1.0.0"}`,
		filepath.Join(versions, "v1.0.0.mod"):   "module example.com/manifests\n",
		filepath.Join(versions, "v1.0.0.zip"):   archive.String(),
		filepath.Join(source, "tiny", "go.mod"): "module example.com/tiny\n\ngo 1.26\n\nrequire example.com/manifests v1.0.0\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOSUMDB", "example.com/*")
	t.Setenv("GOFLAGS", "-modcacherw")
	dir := filepath.Join(source, "tiny")
	t.Setenv("GOMODCACHE", t.TempDir())
	if out, err := goCommand(t.Context(), dir, "mod", "download", "all"); err != nil { // writes go.sum
		t.Fatal(err, out)
	}
	t.Setenv("GOMODCACHE", t.TempDir())
	set.manifests = append(set.manifests, manifest{"example.com/manifests", "manifests/*.yaml", "downloaded"})
	b := Builder{CacheDir: t.TempDir(), SourceDir: source}
	programs, err := b.build(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := programs.manifests(set, "downloaded"); err != nil || len(files) != 1 {
		t.Errorf("manifests %v, %v", files, err)
	}
}

func TestWarmCacheNeedsNoGo(t *testing.T) {
	source, set := tinyModule(t)
	b := Builder{CacheDir: t.TempDir(), SourceDir: source}
	if _, err := b.build(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := b.build(t.Context(), set); err != nil {
		t.Errorf("with everything built: %v", err)
	}
	b.CacheDir = t.TempDir()
	if _, err := b.build(t.Context(), set); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("got %v", err)
	}
}

func TestKeyFollowsTheInputs(t *testing.T) {
	source, set := tinyModule(t)
	dir := filepath.Join(source, "tiny")
	before, err := setKey(dir, set, "go1.26.0")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := setKey(dir, set, "go1.26.0"); again != before {
		t.Error("the key changes by itself")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, _ := setKey(dir, set, "go1.26.0"); after == before {
		t.Error("the key does not follow go.sum")
	}
	if err := os.Remove(filepath.Join(dir, "go.sum")); err != nil {
		t.Fatal(err)
	}
	if _, err := setKey(dir, set, "go1.26.0"); err == nil {
		t.Error("an incomplete module has a key")
	}
}

func TestKeyFollowsASetsOwnSources(t *testing.T) {
	source, set := tinyModule(t)
	dir := filepath.Join(source, "tiny")
	set.sources = []string{"main.go"}
	before, err := setKey(dir, set, "go1.26.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { println() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, _ := setKey(dir, set, "go1.26.0"); after == before {
		t.Error("the key does not follow main.go")
	}
}

func TestCompiler(t *testing.T) {
	source, _ := tinyModule(t)
	dir := filepath.Join(source, "tiny")
	if got, err := compilerOf(dir, "go1.26.8"); got != "go1.26.8" || err != nil {
		t.Errorf("a module without a toolchain is compiled by %s, %v", got, err)
	}
	mod := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(mod, []byte("module example.com/tiny\n\ngo 1.27.0\n\ntoolchain go1.27.4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for installed, want := range map[string]string{"go1.26.8": "go1.27.4", "go1.27.4": "go1.27.4", "go1.28.0": "go1.28.0"} {
		if got, err := compilerOf(dir, installed); got != want || err != nil {
			t.Errorf("with %s, a module with go1.27.4 is compiled by %s, %v", installed, got, err)
		}
	}
}

func TestFailedBuildShowsTheCompilersWords(t *testing.T) {
	source, set := tinyModule(t)
	if err := os.WriteFile(filepath.Join(source, "tiny", "main.go"), []byte("package main\nfunc main() { nonsense() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	b := Builder{CacheDir: cache, SourceDir: source}
	if _, err := b.build(t.Context(), set); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("got %v", err)
	}
	if parts, _ := filepath.Glob(filepath.Join(cache, "*", "*.part")); len(parts) > 0 {
		t.Errorf("left behind: %v", parts)
	}
}

// allSets returns the sets of all versions.
func allSets() []programSet {
	return append(setsFor(ArgoCDVersions(), Oldest), Newest.sets()...)
}

func TestEveryProgramIsATool(t *testing.T) {
	root, err := checkoutRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range allSets() {
		if set.sources != nil {
			continue
		}
		mod, err := os.ReadFile(filepath.Join(root, "e2e", "programs", set.name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range set.programs {
			if !strings.Contains(string(mod), p.pkg+"\n") {
				t.Errorf("e2e/programs/%s/go.mod does not name tool %s", set.name, p.pkg)
			}
		}
	}
}

// TestUnlisted checks that the user's GONOSUMDB stays.
func TestUnlisted(t *testing.T) {
	for users, want := range map[string]string{"": "sigs.k8s.io/about-api", "example.com/*": "example.com/*,sigs.k8s.io/about-api"} {
		if got := unlisted(users); got != want {
			t.Errorf("%q: %q, want %q", users, got, want)
		}
	}
}
