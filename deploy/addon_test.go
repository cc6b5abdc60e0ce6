package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/agent"
)

// read decodes a file into the type T. The name is relative to the folder addon. A field unknown to T fails the test.
func read[T any](t *testing.T, name string) T {
	t.Helper()
	data, err := os.ReadFile("addon/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var object T
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// onCluster decodes the manifest of a kind and a name in an AddOnTemplate: an object applied to each cluster. A missing
// manifest and a field unknown to T fail the test.
func onCluster[T any](t *testing.T, template, kind, name string) T {
	t.Helper()
	var object T
	for _, m := range read[addonv1alpha1.AddOnTemplate](t, template).Spec.AgentSpec.Workload.Manifests {
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(m.Raw, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind != kind || meta.Name != name {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(m.Raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&object); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		return object
	}
	t.Fatalf("there is no %s %s", kind, name)
	return object
}

const agentTemplate, rightsTemplate = "addontemplate.yaml", "rights_addontemplate.yaml"

// TestRightsOfTheClusters: the add-on gives the work agent the same rights as example/managed, in the same namespace.
// The default AddOnDeploymentConfig names the ServiceAccounts of the work agent and of Towline's agent, and the
// bindings use these names.
func TestRightsOfTheClusters(t *testing.T) {
	config := read[addonv1alpha1.AddOnDeploymentConfig](t, "rights_addondeploymentconfig.yaml").Spec
	var example struct {
		role    rbacv1.ClusterRole
		binding rbacv1.RoleBinding
	}
	data, err := os.ReadFile("../example/managed/work-agent-rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role, binding, _ := strings.Cut(string(data), "---\n")
	if err := errors.Join(yaml.UnmarshalStrict([]byte(role), &example.role), yaml.UnmarshalStrict([]byte(binding), &example.binding)); err != nil {
		t.Fatal(err)
	}
	got := onCluster[rbacv1.Role](t, rightsTemplate, "Role", "towline:work-agent:applications")
	if diff := cmp.Diff(example.role.Rules, got.Rules); diff != "" {
		t.Errorf("the work agent's rights differ from example/managed (-want +got):\n%s", diff)
	}
	if config.AgentInstallNamespace != example.binding.Namespace {
		t.Errorf("they are for namespace %s", config.AgentInstallNamespace)
	}
	workAgent := example.binding.Subjects[0]
	agent := onCluster[corev1.ServiceAccount](t, agentTemplate, "ServiceAccount", "towline-agent")
	want := []addonv1alpha1.CustomizedVariable{
		{Name: "WORK_AGENT", Value: "system:serviceaccount:" + workAgent.Namespace + ":" + workAgent.Name},
		{Name: "TOWLINE_AGENT", Value: "system:serviceaccount:" + agent.Namespace + ":" + agent.Name},
	}
	if diff := cmp.Diff(want, config.CustomizedVariables); diff != "" {
		t.Errorf("the variables (-want +got):\n%s", diff)
	}
	for name, subject := range map[string]string{"towline:work-agent": "{{WORK_AGENT}}", "towline-agent": "{{TOWLINE_AGENT}}"} {
		b := onCluster[rbacv1.RoleBinding](t, rightsTemplate, "RoleBinding", name)
		if b.Subjects[0].Kind != rbacv1.UserKind || b.Subjects[0].Name != subject {
			t.Errorf("%s is for %v", name, b.Subjects)
		}
	}
}

func TestPartsOfTheAddOnAgree(t *testing.T) {
	addOn := read[addonv1alpha1.ClusterManagementAddOn](t, "clustermanagementaddon.yaml")
	template := read[addonv1alpha1.AddOnTemplate](t, "addontemplate.yaml")
	role := read[rbacv1.ClusterRole](t, "hub_role.yaml")
	configs := addOn.Spec.SupportedConfigs //nolint:staticcheck // v1beta1 is not served by the add-on managers of today
	if template.Spec.AddonName != addOn.Name || configs[0].DefaultConfig.Name != template.Name {
		t.Errorf("the add-on is %s, the template %s is of %s", addOn.Name, template.Name, template.Spec.AddonName)
	}
	if got := template.Spec.Registration[0].KubeClient.HubPermissions[0].CurrentCluster.ClusterRoleName; got != role.Name {
		t.Errorf("the agent gets the role %s on the hub, which is not %s", got, role.Name)
	}
}

func TestAgentRightsAreFew(t *testing.T) {
	want := map[string][]string{
		"applicationreports": {"list", "watch", "create", "patch"},
	}
	for _, rule := range read[rbacv1.ClusterRole](t, "hub_role.yaml").Rules {
		if len(rule.Resources) != 1 || !slices.Equal(rule.Verbs, want[rule.Resources[0]]) {
			t.Errorf("on the hub: %v", rule)
		}
	}
	want = map[string][]string{"applications": {"get", "list", "watch"}, "events": {"create", "patch"}}
	for _, rule := range onCluster[rbacv1.Role](t, rightsTemplate, "Role", "towline-agent").Rules {
		if len(rule.Resources) != 1 || !slices.Equal(rule.Verbs, want[rule.Resources[0]]) {
			t.Errorf("on the cluster: %v", rule)
		}
	}
}

func TestAgentDeployment(t *testing.T) {
	deployment := onCluster[appsv1.Deployment](t, agentTemplate, "Deployment", "towline-agent")
	account := onCluster[corev1.ServiceAccount](t, agentTemplate, "ServiceAccount", "towline-agent")
	config := read[addonv1alpha1.AddOnDeploymentConfig](t, "addondeploymentconfig.yaml").Spec
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	for what, good := range map[string]bool{
		"not root":          *pod.SecurityContext.RunAsNonRoot,
		"seccomp":           pod.SecurityContext.SeccompProfile.Type == "RuntimeDefault",
		"no escalation":     !*container.SecurityContext.AllowPrivilegeEscalation,
		"read-only root":    *container.SecurityContext.ReadOnlyRootFilesystem,
		"no capabilities":   slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"memory limit":      !container.Resources.Limits.Memory().IsZero(),
		"probes":            container.LivenessProbe != nil && container.ReadinessProbe != nil,
		"its account":       pod.ServiceAccountName == account.Name && deployment.Namespace == account.Namespace,
		"where it runs":     config.AgentInstallNamespace == account.Namespace,
		"where it may look": slices.Contains(container.Args, "--application-namespaces={{ARGOCD_NAMESPACE}}"),
		"how long it may stand": slices.ContainsFunc(config.CustomizedVariables, func(v addonv1alpha1.CustomizedVariable) bool {
			after, err := time.ParseDuration(v.Value)
			return v.Name == "NOT_COMPARED_AFTER" && err == nil && after == agent.DefaultNotComparedAfter
		}),
		"the cluster's name": slices.Contains(container.Args, "--cluster-name={{CLUSTER_NAME}}"),
	} {
		if !good {
			t.Errorf("not so: %s", what)
		}
	}
}
