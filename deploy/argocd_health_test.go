package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestArgoCDHealth: the component adds settings to Argo CD's ConfigMap in any namespace, and keeps the existing settings.
// e2e/programs/argocd tests the effect of the settings with Argo CD's engine.
func TestArgoCDHealth(t *testing.T) {
	dir := renderFolder(t, ".")
	for name, text := range map[string]string{
		"argocd-cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: gitops, labels: {app.kubernetes.io/part-of: argocd}}\n" +
			"data: {url: https://argocd.example}\n",
		"kustomization.yaml": "resources: [argocd-cm.yaml]\ncomponents: [../argocd-health]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.ConfigMap
	if err := sigsyaml.UnmarshalStrict(out, &got); err != nil {
		t.Fatal(err)
	}
	const prefix = "resource.customizations."
	want := []string{
		prefix + "health.apps.open-cluster-management.io_MulticlusterApplicationSetReport",
		prefix + "health.argoproj.io_Application",
		prefix + "health.argoproj.io_ApplicationSet",
		prefix + "ignoreResourceUpdates.apps.open-cluster-management.io_MulticlusterApplicationSetReport",
		"url",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got.Data))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Namespace != "gitops" || !strings.HasPrefix(got.Data["url"], "https://") || len(got.Labels) != 1 {
		t.Errorf("what Argo CD's own ConfigMap has was changed: %+v", got)
	}
}
