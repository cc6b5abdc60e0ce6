package deploy_test

import (
	"encoding/json"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/agent/sourceproxy"
)

// decode converts an object of kustomize's output.
func decode[T any](t *testing.T, from any) T {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sourceSpec returns the manifests of an add-on with the component agent-source, by kind and name.
func sourceSpec(t *testing.T, built map[string]map[string]any, addOn string) (addonv1alpha1.AddOnTemplate, map[string]any) {
	t.Helper()
	template := decode[addonv1alpha1.AddOnTemplate](t, built["AddOnTemplate /"+addOn])
	manifests := map[string]any{}
	for _, m := range template.Spec.AgentSpec.Workload.Manifests {
		object := decode[map[string]any](t, m)
		meta := object["metadata"].(map[string]any)
		manifests[object["kind"].(string)+" "+meta["name"].(string)] = object
	}
	return template, manifests
}

// TestAgentSource: the parts of the component agree with each other and with the agent. The agent may write the named
// objects only, and the work agent never overwrites the Secrets.
func TestAgentSource(t *testing.T) {
	built := objects(t, kustomize(t, []string{"../addon"}, []string{"agent-source"}))
	agentTemplate, onAgent := sourceSpec(t, built, "towline-agent")
	rightsTemplate, onArgoCD := sourceSpec(t, built, "towline-rights")

	container := decode[appsv1.Deployment](t, onAgent["Deployment towline-agent"]).Spec.Template.Spec.Containers[0]
	for _, arg := range []string{
		"--source-bind-address=:8444", "--source-namespace={{INSTALL_NAMESPACE}}", "--source-argocd-namespace={{ARGOCD_NAMESPACE}}",
	} {
		if !slices.Contains(container.Args, arg) {
			t.Errorf("the agent has no argument %s: %v", arg, container.Args)
		}
	}
	port := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == "source" && p.ContainerPort == 8444 })
	service := decode[corev1.Service](t, onAgent["Service "+sourceproxy.Service])
	policy := decode[networkingv1.NetworkPolicy](t, onAgent["NetworkPolicy towline-agent-source"])
	if port < 0 || service.Spec.Ports[0].TargetPort.StrVal != "source" || policy.Spec.Ingress[0].Ports[0].Port.StrVal != "source" {
		t.Error("the Deployment, the Service and the NetworkPolicy have different ports")
	}
	if service.Spec.Ports[0].Port != 443 {
		t.Errorf("the default address of the agent has no port, and the Service has port %d", service.Spec.Ports[0].Port)
	}

	for secret, template := range map[string]addonv1alpha1.AddOnTemplate{
		sourceproxy.KeysSecret: agentTemplate, sourceproxy.CredentialsSecret: rightsTemplate,
	} {
		want := workv1.ResourceIdentifier{Resource: "secrets", Namespace: "*", Name: secret}
		if !slices.ContainsFunc(template.Spec.AgentSpec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool {
			return c.ResourceIdentifier == want && c.UpdateStrategy.Type == workv1.UpdateStrategyTypeCreateOnly
		}) {
			t.Errorf("the work agent overwrites the Secret %s: %v", secret, template.Spec.AgentSpec.ManifestConfigs)
		}
	}
	keys := decode[corev1.Secret](t, onAgent["Secret "+sourceproxy.KeysSecret])
	credentials := decode[corev1.Secret](t, onArgoCD["Secret "+sourceproxy.CredentialsSecret])
	if len(keys.Data) > 0 || len(credentials.Data) > 0 || len(credentials.Labels) > 0 {
		t.Error("the Secrets are not empty, or Argo CD reads an empty Secret")
	}

	rules := slices.Concat(decode[rbacv1.Role](t, onAgent["Role towline-agent-source"]).Rules,
		decode[rbacv1.Role](t, onArgoCD["Role towline-agent"]).Rules)
	want := map[string][]string{
		sourceproxy.KeysSecret:            {"get", "list", "watch", "update"},
		sourceproxy.CredentialsSecret:     {"get", "list", "watch", "update"},
		sourceproxy.CertificatesConfigMap: {"get", "list", "watch", "patch"},
	}
	for _, rule := range rules {
		if rule.APIGroups[0] != "" {
			continue // of the agent without sources
		}
		if len(rule.ResourceNames) != 1 || !slices.Equal(rule.Verbs, want[rule.ResourceNames[0]]) {
			t.Errorf("on the cluster: %v", rule)
			continue
		}
		delete(want, rule.ResourceNames[0])
	}
	if len(want) > 0 {
		t.Errorf("the agent has no rights for %v", want)
	}
	last := decode[rbacv1.ClusterRole](t, built["ClusterRole /towline-agent"]).Rules
	if rule := last[len(last)-1]; !slices.Equal(rule.Resources, []string{"repositories/proxy"}) || !slices.Equal(rule.Verbs, []string{"get", "create"}) {
		t.Errorf("on the hub: %v", last)
	}
}
