package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestUI: the status page is off by default. The enabled status page has neither rights nor a token.
func TestUI(t *testing.T) {
	install, err := os.ReadFile("install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(install), "towline-ui") {
		t.Error("it is in install.yaml")
	}
	dir := renderFolder(t, ".")
	text := "resources: [../overlays/argocd]\ncomponents: [../components/ui]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for doc := range strings.SplitSeq(string(out), "\n---\n") {
		if !strings.Contains(doc, "towline-ui") {
			continue
		}
		found++
		checkUI(t, doc)
	}
	if found != 4 {
		t.Errorf("%d objects", found)
	}
}

func checkUI(t *testing.T, doc string) {
	t.Helper()
	var d appsv1.Deployment
	var account corev1.ServiceAccount
	var binding rbacv1.ClusterRoleBinding
	for _, into := range []any{&d, &account, &binding} {
		if err := sigsyaml.Unmarshal([]byte(doc), into); err != nil {
			t.Fatal(err)
		}
	}
	if d.Namespace != namespace {
		t.Errorf("%s %s is in namespace %q", d.Kind, d.Name, d.Namespace)
	}
	switch d.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		t.Errorf("%s %s gives it rights", d.Kind, binding.Name)
	case "ServiceAccount":
		if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
			t.Error("the ServiceAccount's token is mounted")
		}
	case "Deployment":
		pod := d.Spec.Template.Spec
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.ServiceAccountName != "towline-ui" {
			t.Error("the pod has a token")
		}
		for _, v := range pod.Volumes {
			if v.ConfigMap == nil || v.ConfigMap.Name != "kube-root-ca.crt" {
				t.Errorf("volume %s is more than the certificate authority", v.Name)
			}
		}
	}
}
