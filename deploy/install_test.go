// Package deploy_test checks what deploy/install.yaml lets Towline do.
package deploy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const namespace = "argocd"

// byNamespace is the ClusterRole with rights to Secrets.
const byNamespace = "towline-gitopscluster"

// TestSecretsByNamespace: rights to Secrets are for the namespace of one Argo CD at a time.
func TestSecretsByNamespace(t *testing.T) {
	for _, binding := range documents[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if binding.RoleRef.Name == byNamespace {
			t.Errorf("%s gives them in all namespaces", binding.Name)
		}
	}
}

// TestRolesHaveNoWildcards keeps every right one that somebody asked for by
// name.
func TestRolesHaveNoWildcards(t *testing.T) {
	roles := documents[rbacv1.ClusterRole](t, "ClusterRole")
	for _, role := range documents[rbacv1.Role](t, "Role") {
		roles = append(roles, rbacv1.ClusterRole{ObjectMeta: role.ObjectMeta, Rules: role.Rules})
	}
	for _, role := range roles {
		for _, rule := range role.Rules {
			for _, values := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				if slices.Contains(values, "*") {
					t.Errorf("%s has a wildcard: %v", role.Name, rule)
				}
			}
			for _, verb := range []string{"escalate", "bind", "impersonate"} {
				if slices.Contains(rule.Verbs, verb) {
					t.Errorf("%s may %s: %v", role.Name, verb, rule)
				}
			}
			if slices.Contains(rule.Resources, "secrets") && role.Name != byNamespace &&
				(role.Namespace != namespace || !slices.Equal(rule.Verbs, []string{"list", "watch"})) {
				t.Errorf("%s may do more with Secrets than read those of Argo CD: %v", role.Name, rule)
			}
		}
	}
}

// TestRightsGoToTheController checks that the overlay's namespace has reached
// the subjects of the bindings: kustomize leaves them alone when it does not
// find the ServiceAccount.
func TestRightsGoToTheController(t *testing.T) {
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "towline-controller", Namespace: namespace}}
	for _, binding := range documents[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		if !slices.Equal(binding.Subjects, want) {
			t.Errorf("%s is for %v", binding.Name, binding.Subjects)
		}
	}
	for _, binding := range documents[rbacv1.RoleBinding](t, "RoleBinding") {
		if !slices.Equal(binding.Subjects, want) || binding.Namespace != namespace {
			t.Errorf("%s/%s is for %v", binding.Namespace, binding.Name, binding.Subjects)
		}
	}
}

// TestDeployment checks what a restricted namespace and a drain ask for.
func TestDeployment(t *testing.T) {
	deployment := documents[appsv1.Deployment](t, "Deployment")[0]
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	for what, good := range map[string]bool{
		"two replicas":              *deployment.Spec.Replicas == 2,
		"not root":                  *pod.SecurityContext.RunAsNonRoot,
		"seccomp":                   pod.SecurityContext.SeccompProfile.Type == "RuntimeDefault",
		"no escalation":             !*container.SecurityContext.AllowPrivilegeEscalation,
		"read-only root":            *container.SecurityContext.ReadOnlyRootFilesystem,
		"no capabilities":           slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"memory limit":              !container.Resources.Limits.Memory().IsZero(),
		"probes":                    container.LivenessProbe != nil && container.ReadinessProbe != nil,
		"selects its own pods only": len(deployment.Spec.Selector.MatchLabels) == 2,
	} {
		if !good {
			t.Errorf("not so: %s", what)
		}
	}
}

// documents returns the objects of a kind in the manifest, and fails if there
// are none.
func documents[T any](t *testing.T, kind string) []T {
	t.Helper()
	data, err := os.ReadFile("install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []T
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.TypeMeta
		if err := sigsyaml.Unmarshal(document, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind != kind {
			continue
		}
		var object T
		if err := sigsyaml.UnmarshalStrict(document, &object); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		found = append(found, object)
	}
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}
