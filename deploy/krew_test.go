package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewPlugin are the fields of krew's manifest of a plugin.
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// TestKrewIsForReleases: what git describes of a commit that is no release is no version for krew.
func TestKrewIsForReleases(t *testing.T) {
	for _, version := range []string{"", "dev", "8d34a0e", "1.2.3", "v1.2", "v1.2.3-dirty", "v1.2.3-5-g8d34a0e", "v1.2.3-rc.1-5-g8d34a0e-dirty"} {
		out, err := exec.CommandContext(t.Context(), "../.ci/krew", version, "no_platform").CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "krew: ") || !strings.Contains(string(out), "'"+version+"'") {
			t.Errorf("%q: %v: %s", version, err, out)
		}
	}
}

// TestKrew: the manifest for krew is one that krew takes once a release has filled it in, and each platform names its own archive.
func TestKrew(t *testing.T) {
	data, err := os.ReadFile("krew/towline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "VERSION"); n != 2+5 { // of the comment, of the spec, and one in each address
		t.Errorf("VERSION is there %d times", n)
	}
	sum := strings.Repeat("0123456789abcdef", 4)
	filled := regexp.MustCompile(`SHA256_\w+`).ReplaceAllString(strings.ReplaceAll(string(data), "VERSION", "v1.2.3"), sum)
	p := &krewPlugin{}
	if err := yaml.UnmarshalStrict([]byte(filled), p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "towline" ||
		p.Spec.Version != "v1.2.3" || p.Spec.Homepage == "" || p.Spec.Description == "" {
		t.Errorf("got %+v", p)
	}
	if s := p.Spec.ShortDescription; s == "" || len(s) > 60 || strings.HasSuffix(s, ".") {
		t.Errorf("the short description has %d characters, and krew wants few: %q", len(s), s)
	}
	seen := map[string]bool{}
	for _, platform := range p.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		name := labels["os"] + "_" + labels["arch"]
		archive := fmt.Sprintf("https://github.com/towline-io/towline/releases/download/v1.2.3/kubectl-towline_%s.tar.gz", name)
		program := "kubectl-towline"
		if labels["os"] == "windows" {
			program += ".exe"
		}
		if len(labels) != 2 || seen[name] || platform.URI != archive || platform.Bin != program || platform.SHA256 != sum {
			t.Errorf("got %+v", platform)
		}
		if !strings.Contains(string(data), "sha256: SHA256_"+name+"\n") {
			t.Errorf("%s has the sum of another", name)
		}
		seen[name] = true
	}
	for _, name := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64"} {
		if !seen[name] {
			t.Errorf("there is nothing for %s", name)
		}
	}
}
