package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"
)

// maestroObjects returns the objects of deploy/maestro, or of a subfolder, by kind, namespace and name.
func maestroObjects(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	return objectsIn(t, filepath.Join("maestro", folder))
}

// objectsIn returns the objects of a kustomization by kind, namespace and name.
func objectsIn(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	args := []string{"tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", folder}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("kustomize: %v", err)
	}
	objects := map[string][]byte{}
	for document := range strings.SplitSeq(string(out), "\n---\n") {
		var u unstructured.Unstructured
		if err := sigsyaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		objects[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = []byte(document)
	}
	return objects
}

func objectOf[T any](t *testing.T, objects map[string][]byte, name string) T {
	t.Helper()
	var out T
	if objects[name] == nil {
		t.Fatalf("there is no %s", name)
	}
	if err := sigsyaml.UnmarshalStrict(objects[name], &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMaestroRights: towline-maestro may read the objects for admission and check the rights of users. On the hub,
// towline-maestro may change only the Lease and the Secret with the key.
func TestMaestroRights(t *testing.T) {
	objects := maestroObjects(t, "")
	read := objectOf[rbacv1.ClusterRole](t, objects, "ClusterRole /towline-maestro")
	for _, rule := range read.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("it may %s %v", verb, rule.Resources)
			}
		}
		if slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "secrets") {
			t.Errorf("it may read %v", rule)
		}
	}
	lease := objectOf[rbacv1.Role](t, objects, "Role argocd/towline-maestro")
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"towline-maestro"},
			Verbs: []string{"get", "update"},
		},
	}
	if diff := cmp.Diff(want, lease.Rules); diff != "" {
		t.Errorf("Lease (-want +got):\n%s", diff)
	}
	expectKeyRights(t, objectOf[rbacv1.Role](t, objects, "Role argocd/towline-maestro-ids").Rules)
	expectBindings(t, objects, "towline-maestro", map[string]string{
		"ClusterRoleBinding /towline-maestro":                           "towline-maestro",
		"ClusterRoleBinding /towline-maestro:auth-delegator":            "system:auth-delegator",
		"RoleBinding argocd/towline-maestro":                            "towline-maestro",
		"RoleBinding argocd/towline-maestro-ids":                        "towline-maestro-ids",
		"RoleBinding kube-system/towline-maestro:authentication-reader": "extension-apiserver-authentication-reader",
	})
}

// expectBindings checks the role of each binding, and that the only subject is the ServiceAccount.
func expectBindings(t *testing.T, objects map[string][]byte, account string, roles map[string]string) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: namespace}}
	for name, role := range roles {
		binding := objectOf[rbacv1.RoleBinding](t, objects, name)
		if binding.RoleRef.Name != role || !slices.Equal(binding.Subjects, subjects) {
			t.Errorf("%s binds %s to %v", name, binding.RoleRef.Name, binding.Subjects)
		}
	}
}

// expectKeyRights checks that the only rights to Secrets are for the Secret towline-maestro-ids, without the right to
// create Secrets. In Argo CD's namespace, a new Secret can add a cluster or a repository.
func expectKeyRights(t *testing.T, rules []rbacv1.PolicyRule) {
	t.Helper()
	rules = slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool { return !slices.Contains(r.Resources, "secrets") })
	want := []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"towline-maestro-ids"}, Verbs: []string{"get", "update"},
	}}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}

// TestMaestroKey: the installation brings the Secret without a key, because an apply must not overwrite the key in use.
func TestMaestroKey(t *testing.T) {
	secret := objectOf[corev1.Secret](t, maestroObjects(t, ""), "Secret argocd/towline-maestro-ids")
	if len(secret.Data)+len(secret.StringData) > 0 || secret.Immutable != nil {
		t.Errorf("%+v", secret)
	}
	expectKeyRights(t, objectOf[rbacv1.Role](t, maestroObjects(t, "migrate/to-maestro"), "Role argocd/towline-maestro-migrate").Rules)
}

// TestMaestroDoor: the APIService leads to the pods of towline-maestro. The Service and the NetworkPolicy select the
// pods, and have the pods' port. The pods run with restricted security settings, and in a single replica.
func TestMaestroDoor(t *testing.T) {
	objects := maestroObjects(t, "")
	deployment := expectDoor(t, objects, "maestro", "towline-maestro")
	for what, good := range map[string]bool{
		"no plaintext": !slices.Contains(deployment.Spec.Template.Spec.Containers[0].Args, "--maestro-plaintext"),
		"one process":  *deployment.Spec.Replicas == 1,
	} {
		if !good {
			t.Errorf("not as it should be: %s", what)
		}
	}
}

// expectDoor checks that the APIService of a folder leads to the pods of a Deployment. The Service and the NetworkPolicy
// select the pods, and have the pods' port. The pods run with restricted security settings.
func expectDoor(t *testing.T, objects map[string][]byte, folder, name string) appsv1.Deployment {
	t.Helper()
	deployment := objectOf[appsv1.Deployment](t, objects, "Deployment argocd/"+name)
	pod := deployment.Spec.Template
	service := objectOf[corev1.Service](t, objects, "Service argocd/"+name)
	policy := objectOf[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy argocd/"+name)
	var api struct {
		Spec struct {
			Service struct{ Name, Namespace string }
		}
	}
	if data, err := os.ReadFile(filepath.Join(folder, "apiservice.yaml")); err != nil || sigsyaml.Unmarshal(data, &api) != nil {
		t.Fatalf("the APIService cannot be read: %v", err)
	}
	container := pod.Spec.Containers[0]
	for what, good := range map[string]bool{
		"the Service's selector": cmp.Equal(service.Spec.Selector, pod.Labels),
		"the policy's selector":  cmp.Equal(policy.Spec.PodSelector.MatchLabels, pod.Labels),
		"the Service's port":     service.Spec.Ports[0].TargetPort.String() == container.Ports[0].Name,
		"the policy's port":      policy.Spec.Ingress[0].Ports[0].Port.String() == container.Ports[0].Name,
		"the APIService":         api.Spec.Service.Name == service.Name && api.Spec.Service.Namespace == service.Namespace,
		"not root":               *pod.Spec.SecurityContext.RunAsNonRoot,
		"seccomp":                pod.Spec.SecurityContext.SeccompProfile.Type == "RuntimeDefault",
		"no escalation":          !*container.SecurityContext.AllowPrivilegeEscalation,
		"read-only root":         *container.SecurityContext.ReadOnlyRootFilesystem,
		"no capabilities":        slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"memory limit":           !container.Resources.Limits.Memory().IsZero(),
	} {
		if !good {
			t.Errorf("not as it should be: %s", what)
		}
	}
	return deployment
}
