package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/pkg/check"
)

// TestCheckACM checks a hub of Advanced Cluster Management: a missing ConfigMap of a generator, GitOpsClusters that
// put credentials into Secrets, and no deprecated CRD.
func TestCheckACM(t *testing.T) {
	space(t, "acm-gitops")
	const placement = `"placementRef": {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "all"}`
	set := func(name, ref string) string {
		return `{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "` + name + `", "namespace": "acm-gitops"},
			"spec": {"generators": [{"clusterDecisionResource": {"configMapRef": "` + ref + `", "labelSelector": {"matchLabels": {"a": "b"}}}}],
			"template": {"metadata": {"name": "a"}, "spec": {"project": "default", "destination": {}, "source": {"repoURL": "https://git.example"}}}}}`
	}
	gitOps := func(name, more string) string {
		return `{"apiVersion": "apps.open-cluster-management.io/v1beta1", "kind": "GitOpsCluster", "metadata": {"name": "` + name +
			`", "namespace": "acm-gitops"}, "spec": {"argoServer": {"argoNamespace": "acm-gitops"}, ` + placement + more + `}}`
	}
	for _, text := range []string{
		set("right", "acm-placement"), set("wrong", "ocm-placement-generator"), gitOps("tokens", ""), gitOps("blank",
			`, "createBlankClusterSecrets": true`),
		gitOps("add-on", `, "gitopsAddon": {"enabled": true}`),
	} {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		create(t, u)
	}
	create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "acm-gitops", Name: "acm-placement"}})
	r := &factReader{Client: admin, facts: &check.Facts{
		Unread: map[string]bool{}, Served: map[string]bool{check.ACMHub: true}, Workloads: []check.Workload{
			{Namespace: "acm-gitops", Labels: map[string]string{"app.kubernetes.io/name": "openshift-gitops-applicationset-controller"}},
		},
	}}
	if err := r.acm(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := r.facts.ACM
	if !slices.Contains(got.Generators, check.Generator{Set: "acm-gitops/wrong", ConfigMap: "ocm-placement-generator"}) ||
		slices.Contains(got.Generators, check.Generator{Set: "acm-gitops/right", ConfigMap: "acm-placement"}) {
		t.Errorf("generators: %v", got.Generators)
	}
	of := slices.DeleteFunc(got.WithCredentials, func(name string) bool { return !strings.HasPrefix(name, "acm-gitops/") })
	if !slices.Equal(of, []string{"acm-gitops/tokens"}) || got.Deprecated {
		t.Errorf("%+v", got)
	}
}
