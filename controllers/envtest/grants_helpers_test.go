package envtest_test

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// globalSet holds all clusters, as on every hub.
const globalSet = "global"

// grantAll creates the grants by which every Application may go everywhere, except for the bindings of its namespace.
func grantAll(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: controllers.DefaultArgoCDNamespace}}
	global := clusterSet(globalSet, &metav1.LabelSelector{})
	everything := project(argocd.DefaultProject, func(s *argocd.AppProjectSpec) { s.SourceNamespaces = []string{"*"} })
	for _, obj := range []client.Object{ns, global, everything} {
		if err := k8s.Create(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// Namespace and cluster of the Applications for settled, shared by all tests. No test may change them.
const (
	barrierNamespace = "barriers"
	barrierCluster   = "barrier-cluster"
	barrierSecret    = "barrier"
)

// makeBarrierGround creates the barrier objects.
func makeBarrierGround(ctx context.Context) error {
	c := managedCluster(barrierCluster)
	c.Spec.HubAcceptsClient = true
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: barrierNamespace, Name: barrierSecret}}
	secret.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
	for _, obj := range []client.Object{
		namespaceOf(barrierNamespace), namespaceOf(barrierCluster), binding(barrierNamespace, globalSet), secret, c,
	} {
		if err := k8s.Create(ctx, obj); err != nil {
			return err
		}
	}
	for _, name := range []string{barrierNamespace, barrierCluster} {
		owners.Store(name, "")
	}
	c.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
	}}
	return k8s.Status().Update(ctx, c)
}

// clusterSet returns a ManagedClusterSet with a label selector, or with the exclusive label if selector is nil.
func clusterSet(name string, selector *metav1.LabelSelector) *clusterv1beta2.ManagedClusterSet {
	set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Spec.ClusterSelector.SelectorType = clusterv1beta2.ExclusiveClusterSetLabel
	if selector != nil {
		set.Spec.ClusterSelector.SelectorType = clusterv1beta2.LabelSelector
		set.Spec.ClusterSelector.LabelSelector = selector
	}
	return set
}

func binding(namespace, set string) *clusterv1beta2.ManagedClusterSetBinding {
	b := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}}
	b.Spec.ClusterSet = set
	return b
}

// project returns an AppProject that permits every source and destination to Applications of Argo CD's namespace.
func project(name string, edits ...func(*argocd.AppProjectSpec)) *argocd.AppProject {
	p := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: controllers.DefaultArgoCDNamespace, Name: name}}
	p.APIVersion, p.Kind = argocd.GroupVersion.String(), "AppProject"
	p.Spec.SourceRepos = []string{"*"}
	p.Spec.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "*"}}
	for _, edit := range edits {
		edit(&p.Spec)
	}
	return p
}

// each calls do count times, a few calls in parallel.
func each(t *testing.T, count int, do func(int) error) {
	t.Helper()
	var group sync.WaitGroup
	places := make(chan struct{}, 16)
	for i := range count {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			if err := do(i); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
