package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/fixture/documented"
)

// ofArgoCD are the documented components for the reader's Argo CD. TestArgoCDUIExtension and TestArgoCDHealth build the
// components together with a part of Argo CD.
var ofArgoCD = []string{"../towline/deploy/argocd-ui-extension", "../towline/deploy/argocd-health"}

// TestDocumentedKustomizations: kustomize builds each kustomization.yaml of the documentation, in a folder beside the
// overlays.
func TestDocumentedKustomizations(t *testing.T) {
	built := 0
	all := pages(t, documented.Written...)
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for _, b := range documented.Blocks(page, all[page]) {
			k := kustomization{}
			if b.Kind != "yaml" || sigsyaml.UnmarshalStrict([]byte(b.Text), &k) != nil || len(k.Resources)+len(k.Components) == 0 {
				continue // checkYAML decodes all further YAML.
			}
			if len(k.Components) == 1 && slices.Contains(ofArgoCD, k.Components[0]) {
				continue
			}
			buildDocumented(t, b)
			built++
		}
	}
	if built < 2 {
		t.Errorf("the documentation shows %d files of kustomize: there were more", built)
	}
}

// buildDocumented builds a documented kustomization.yaml as an overlay of the repository. The manifest must have the
// controller.
func buildDocumented(t *testing.T, b block) {
	t.Helper()
	dir := renderFolder(t, "overlays")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(b.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "name: towline-controller\n") {
		t.Errorf("%s:%d: kustomize: %v\n%.500s", b.Page, b.Line, err, out)
	}
}
