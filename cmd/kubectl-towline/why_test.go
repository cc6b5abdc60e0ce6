package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/work"
)

// whys is the namespace of the Applications in TestWhy. whysArgoCD is the namespace of their Argo CD. No other test
// uses the namespaces.
const (
	whys       = "whys"
	whysArgoCD = "whys-argocd"
)

// project creates an AppProject in the namespace of an Argo CD.
func project(t *testing.T, namespace, name string, edits ...func(spec map[string]any)) {
	t.Helper()
	spec := map[string]any{
		"sourceNamespaces": []any{"*"}, "sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
	}
	for _, e := range edits {
		e(spec)
	}
	obj := newApplicationSet().Unstructured
	obj.SetGroupVersionKind(argocd.GroupVersion.WithKind("AppProject"))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.Object["spec"] = spec
	create(t, &obj)
}

// accepted creates an accepted managed cluster with a namespace.
func accepted(t *testing.T, name string, edits ...func(*clusterv1.ManagedCluster)) {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	c := fixture.Cluster(name).Obj()
	for _, e := range edits {
		e(c)
	}
	create(t, c)
	if !c.Spec.HubAcceptsClient {
		return
	}
	for _, condition := range []string{clusterv1.ManagedClusterConditionHubAccepted, clusterv1.ManagedClusterConditionAvailable} {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: "So", LastTransitionTime: metav1.NewTime(ago),
		})
	}
	if err := admin.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// given lets a namespace use all clusters.
func given(t *testing.T, namespace string) {
	t.Helper()
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "all-of-" + namespace}}
	set.Spec.ClusterSelector.SelectorType, set.Spec.ClusterSelector.LabelSelector = clusterv1beta2.LabelSelector, &metav1.LabelSelector{}
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set.Name}}
	binding.Spec.ClusterSet = set.Name
	create(t, set, binding)
	binding.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta2.ClusterSetBindingBoundType, Status: metav1.ConditionTrue, Reason: "So", LastTransitionTime: metav1.NewTime(ago),
	}}
	if err := admin.Status().Update(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}

// in returns an Application permitted on whys-c1.
func in(name string) *fixture.ApplicationBuilder {
	return fixture.Application(name).Namespace(whys).Cluster("whys-c1")
}

// specIn returns the spec of a test Application in an AppProject.
func specIn(project string) string {
	return fmt.Sprintf(`{"project":%q,"source":{"repoURL":"https://git.example.com/apps.git","path":"a","targetRevision":"HEAD"},`+
		`"destination":{"server":"https://kubernetes.default.svc","namespace":"a"}}`, project)
}

// reasons returns Applications by the reason that stops their delivery.
func reasons() map[string]*fixture.ApplicationBuilder {
	return map[string]*fixture.ApplicationBuilder{
		"NotLabelled":                       in("a").NoLabel(apis.LabelPull),
		apis.ReasonClusterAnnotationMissing: in("a").NoAnnotation(apis.AnnotationCluster),
		apis.ReasonClusterNameInvalid:       in("a").Cluster("No!"),
		apis.ReasonClusterNotFound:          in("a").Cluster("nowhere"),
		apis.ReasonClusterNotAccepted:       in("a").Cluster("whys-waits"),
		apis.ReasonLocalClusterConflict:     in("a").Cluster("whys-hub"),
		apis.ReasonSkipReconcileMissing:     in("a").NoAnnotation(apis.AnnotationSkipReconcile),
		apis.ReasonNamespaceInvalid:         in("a").Annotation(apis.AnnotationAppNamespace, "No!"),
		apis.ReasonAnnotationInvalid:        in("a").Annotation(apis.AnnotationAdopt, "maybe"),
		apis.ReasonSpecInvalid:              in("a").Spec(`{"project":"default","destination":7}`),
		apis.ReasonClusterForbidden:         in("a").Namespace("whys-tenant"),
		apis.ReasonNamespaceForbidden:       in("a").Annotation(apis.AnnotationAppNamespace, "elsewhere"),
		apis.ReasonProjectNotFound:          in("a").Spec(specIn("whys-none")),
		apis.ReasonProjectForbidden:         in("a").Spec(specIn("whys-others")),
		apis.ReasonSourceForbidden:          in("a").Spec(specIn("whys-sources")),
		apis.ReasonDestinationForbidden:     in("a").Spec(specIn("whys-destinations")),
		apis.ReasonExecutorInvalid:          in("a").Spec(specIn("whys-executor")),
		apis.ReasonPaused:                   in("a").Annotation(apis.AnnotationPaused, "true"),
		apis.ReasonWorkConflict:             in("taken"),
		apis.ConditionPlacementWarning: in("a").NoAnnotation(apis.AnnotationCluster).Annotation(apis.AnnotationPlacement, "best").
			Condition(apis.ConditionPlacementWarning, "Placement best has chosen 2 clusters"),
		apis.ConditionDependencyError: in("a").Condition(apis.ConditionDependencyError, "there is no Secret a"),
		apis.ConditionPropagationError: in("a").Condition(apis.ConditionPropagationError,
			"the ManifestWork would have 600000 bytes, and may have 512000"),
	}
}

// TestWhy checks that each reason from objects of the hub stops the diagnosis at the right link. A tenant sees the
// text of the Application.
func TestWhy(t *testing.T) {
	for _, ns := range []string{whys, "whys-tenant", whysArgoCD} {
		create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	}
	accepted(t, "whys-c1")
	accepted(t, "whys-waits", func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	accepted(t, "whys-hub", func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} })
	given(t, whys)
	project(t, whysArgoCD, argocd.DefaultProject)
	project(t, whysArgoCD, "whys-others", func(spec map[string]any) { spec["sourceNamespaces"] = []any{"others"} })
	project(t, whysArgoCD, "whys-sources", func(spec map[string]any) { spec["sourceRepos"] = []any{"https://elsewhere.example.com/*"} })
	project(t, whysArgoCD, "whys-destinations", func(spec map[string]any) { spec["destinations"] = []any{} })
	project(t, whysArgoCD, "whys-executor")
	annotated := metadata(argocd.GroupVersion.WithKind("AppProject"))
	annotated.Namespace, annotated.Name = whysArgoCD, "whys-executor"
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"nobody"}}}`, apis.AnnotationExecutor))
	if err := admin.Patch(t.Context(), annotated, patch); err != nil {
		t.Fatal(err)
	}
	for reason, b := range reasons() {
		t.Run(reason, func(t *testing.T) {
			app := b.UID("").Obj()
			create(t, app)
			if reason == apis.ReasonWorkConflict {
				key := work.Key(app)
				w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
				w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)}}}
				create(t, w)
			}
			got := as(t, "", "", "why", app.Name, "-n", app.Namespace, "--argocd-namespace", whysArgoCD)
			if !strings.Contains(got.out, "    reason  "+reason+"\n") || !strings.Contains(got.out, "    do      ") || got.code != exitBlocked {
				t.Errorf("got %+v", got)
			}
			if reason == apis.ReasonClusterNotFound {
				got = as(t, "", "", "why", app.Name, "-n", app.Namespace, "--argocd-namespace", whysArgoCD, "--trace")
				_, trace, _ := strings.Cut(got.out, "The checks and steps of the decision:\n")
				golden.Equal(t, "why-trace.golden", []byte(trace))
			}
		})
	}
}
