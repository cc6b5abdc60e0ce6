package deploy_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/managedresources"
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
	expectBindings(t, objects, sourceName, map[string]string{
		"ClusterRoleBinding /towline-source":                           sourceName,
		"ClusterRoleBinding /towline-source:auth-delegator":            "system:auth-delegator",
		"RoleBinding argocd/towline-source":                            sourceName,
		"RoleBinding kube-system/towline-source:authentication-reader": "extension-apiserver-authentication-reader",
	})
}

// TestChartIsSource: the chart renders the same objects as deploy/source, alone and with all components.
func TestChartIsSource(t *testing.T) {
	api, err := os.ReadFile("source/apiservice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const monitored = "metrics.serviceMonitor.enabled=true,metrics.certificate.secretName=towline-controller-metrics-tls," +
		"metrics.prometheusRule.enabled=true"
	for values, components := range map[string][]string{
		"source.enabled=true": nil,
		"source.enabled=true,source.managedResources=guarded," + monitored: {
			"service-monitor", "prometheus-rule", "../source/managed-resources", "../source/monitoring",
		},
	} {
		want := objects(t, slices.Concat(kustomize(t, []string{"../overlays/argocd", "../source"}, components), []byte("\n---\n"), api))
		for _, version := range helms {
			out, err := template(t, version, namespace, append(slices.Clone(placeholder),
				"--set=source.image.repository=towline-source,source.image.tag=latest,"+values)...)
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			if diff := cmp.Diff(want, objects(t, out)); diff != "" {
				t.Errorf("%s with %s renders something else (-kustomize +chart):\n%s", version, values, diff)
			}
		}
	}
}

// TestSourceDoor: the APIService leads to the pods of towline-source. The pods run with restricted security settings, and
// write only into the volume for the mirrors.
func TestSourceDoor(t *testing.T) {
	pod := expectDoor(t, objectsIn(t, "source"), "source", sourceName).Spec.Template.Spec
	var api struct {
		Metadata struct{ Name string }
	}
	if data, err := os.ReadFile("source/apiservice.yaml"); err != nil || sigsyaml.Unmarshal(data, &api) != nil {
		t.Fatalf("the APIService cannot be read: %v", err)
	}
	if want := source.GroupVersion.Version + "." + source.GroupVersion.Group; api.Metadata.Name != want {
		t.Errorf("the APIService is %s, not %s", api.Metadata.Name, want)
	}
	if !slices.Contains(pod.Containers[0].Args, "--data=/data") || pod.Volumes[1].EmptyDir.SizeLimit == nil {
		t.Error("the mirrors have no volume with a limit")
	}
}

// TestManagedResources: with the components for managed resources, the two programs have the flags and the rights. In
// Argo CD's namespace, towline-source reads only named objects, and the agent gets no other verbs on the hub.
func TestManagedResources(t *testing.T) {
	built := objects(t, kustomize(t, []string{"../source"}, []string{"../source/managed-resources"}))
	args := decode[appsv1.Deployment](t, built["Deployment argocd/"+sourceName]).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--managed-resources=guarded") {
		t.Errorf("the arguments are %v", args)
	}
	for _, rule := range decode[rbacv1.Role](t, built["Role argocd/towline-source-managed-resources"]).Rules {
		if len(rule.ResourceNames) == 0 || slices.Contains(rule.Verbs, "*") {
			t.Errorf("in Argo CD's namespace: %v", rule)
		}
	}
	agents := objects(t, kustomize(t, []string{"../addon"}, []string{"agent-managed-resources"}))
	_, onAgent := sourceSpec(t, agents, "towline-agent")
	args = decode[appsv1.Deployment](t, onAgent["Deployment towline-agent"]).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--argocd-managed-resources={{ARGOCD_NAMESPACE}}") {
		t.Errorf("the arguments of the agent are %v", args)
	}
	rules := decode[rbacv1.ClusterRole](t, agents["ClusterRole /towline-agent"]).Rules
	last := rules[len(rules)-1]
	if !slices.Equal(last.Resources, []string{managedresources.Resource}) || !slices.Equal(last.Verbs, []string{"update", "delete"}) {
		t.Errorf("on the hub: %v", last)
	}
}
