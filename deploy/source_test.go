package deploy_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/source"
)

const sourceName = "towline-source"

// TestSourceRights: towline-source only reads. It may read Secrets in Argo CD's namespace alone.
func TestSourceRights(t *testing.T) {
	objects := objectsIn(t, "source")
	all := objectOf[rbacv1.ClusterRole](t, objects, "ClusterRole /"+sourceName)
	own := objectOf[rbacv1.Role](t, objects, "Role "+namespace+"/"+sourceName)
	for _, rule := range slices.Concat(all.Rules, own.Rules) {
		if !slices.Equal(rule.Verbs, []string{"list", "watch"}) {
			t.Errorf("the verbs for %v are %v", rule.Resources, rule.Verbs)
		}
	}
	for _, rule := range all.Rules {
		if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "*") {
			t.Errorf("on the whole hub: %v", rule.Resources)
		}
	}
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: sourceName, Namespace: namespace}}
	for name, role := range map[string]string{
		"ClusterRoleBinding /towline-source":                           sourceName,
		"ClusterRoleBinding /towline-source:auth-delegator":            "system:auth-delegator",
		"RoleBinding argocd/towline-source":                            sourceName,
		"RoleBinding kube-system/towline-source:authentication-reader": "extension-apiserver-authentication-reader",
	} {
		binding := objectOf[rbacv1.RoleBinding](t, objects, name)
		if binding.RoleRef.Name != role || !slices.Equal(binding.Subjects, account) {
			t.Errorf("%s binds %s to %v", name, binding.RoleRef.Name, binding.Subjects)
		}
	}
}

// TestSourceDoor: the APIService leads to the pods of towline-source. The pods run with restricted security settings, and
// write only into the volume for the mirrors.
func TestSourceDoor(t *testing.T) {
	objects := objectsIn(t, "source")
	pod := objectOf[appsv1.Deployment](t, objects, "Deployment argocd/"+sourceName).Spec.Template
	service := objectOf[corev1.Service](t, objects, "Service argocd/"+sourceName)
	policy := objectOf[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy argocd/"+sourceName)
	var api struct {
		Metadata struct{ Name string }
		Spec     struct {
			Service struct{ Name, Namespace string }
		}
	}
	if data, err := os.ReadFile("source/apiservice.yaml"); err != nil || sigsyaml.Unmarshal(data, &api) != nil {
		t.Fatalf("the APIService cannot be read: %v", err)
	}
	container := pod.Spec.Containers[0]
	for what, good := range map[string]bool{
		"the Service's selector": cmp.Equal(service.Spec.Selector, pod.Labels),
		"the policy's selector":  cmp.Equal(policy.Spec.PodSelector.MatchLabels, pod.Labels),
		"the Service's port":     service.Spec.Ports[0].TargetPort.String() == container.Ports[0].Name,
		"the policy's port":      policy.Spec.Ingress[0].Ports[0].Port.String() == container.Ports[0].Name,
		"the APIService's name":  api.Metadata.Name == source.GroupVersion.Version+"."+source.GroupVersion.Group,
		"the APIService":         api.Spec.Service.Name == service.Name && api.Spec.Service.Namespace == service.Namespace,
		"not root":               *pod.Spec.SecurityContext.RunAsNonRoot,
		"seccomp":                pod.Spec.SecurityContext.SeccompProfile.Type == "RuntimeDefault",
		"no escalation":          !*container.SecurityContext.AllowPrivilegeEscalation,
		"read-only root":         *container.SecurityContext.ReadOnlyRootFilesystem,
		"no capabilities":        slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"memory limit":           !container.Resources.Limits.Memory().IsZero(),
		"a volume for mirrors":   slices.Contains(container.Args, "--data=/data") && pod.Spec.Volumes[1].EmptyDir.SizeLimit != nil,
	} {
		if !good {
			t.Errorf("not as it should be: %s", what)
		}
	}
}
