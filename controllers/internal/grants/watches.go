package grants

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// bySet finds the ManagedClusterSetBindings of a ManagedClusterSet.
	bySet = "set"

	// byCarriedProject finds the ManifestWorks that carry Applications of an AppProject.
	byCarriedProject = "carriedProject"
)

// Setup registers the indexes for Check. Other packages read the index of decisions as well: the function decisions
// registers the index of decisions.
func (c *Checker) Setup(ctx context.Context, indexer client.FieldIndexer, decisions func() error) error {
	if err := indexer.IndexField(ctx, &workv1.ManifestWork{}, byCarriedProject, carriedProject); err != nil {
		return err
	}
	if c.Clusters == None {
		return nil
	}
	err := indexer.IndexField(ctx, &clusterv1beta2.ManagedClusterSetBinding{}, bySet, func(obj client.Object) []string {
		return []string{obj.(*clusterv1beta2.ManagedClusterSetBinding).Spec.ClusterSet}
	})
	if err != nil {
		return err
	}
	return decisions()
}

// Watches wake the Applications whose rights a change may have changed: the Applications that ask for a changed right,
// and the Applications of works that use the right. Labels of clusters do not count here: the watch of ManagedClusters
// covers labels.
func (c *Checker) Watches() []loop.Watch {
	watches := []loop.Watch{loop.WatchOf(&argocd.AppProject{}, c.ofProject, rulesChanged())}
	if c.Clusters == None {
		return watches
	}
	return append(watches,
		loop.WatchOf(&clusterv1beta2.ManagedClusterSetBinding{}, c.ofBinding, predicate.GenerationChangedPredicate{}),
		loop.WatchOf(&clusterv1beta2.ManagedClusterSet{}, c.ofSet, predicate.GenerationChangedPredicate{}),
		loop.Watch{Object: &clusterv1beta1.PlacementDecision{}, Handler: c.onDecision()},
	)
}

// rulesChanged passes changes of an AppProject's spec or annotations. An AppProject has no status subresource, and
// therefore no generation to compare.
func rulesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.AppProject), e.ObjectNew.(*argocd.AppProject)
		return !bytes.Equal(before.Spec.Raw, after.Spec.Raw) || !maps.Equal(before.Annotations, after.Annotations)
	}}
}

func (c *Checker) ofProject(ctx context.Context, project client.Object) []reconcile.Request {
	keys := index.ApplicationsOfProject(ctx, c.Reader, project.GetName())
	carried := client.MatchingFields{byCarriedProject: project.GetName()}
	return loop.Requests(append(keys, index.ApplicationsOfWorks(ctx, c.Reader, carried)...))
}

// carriedProject returns the AppProject of the Application in a ManifestWork.
func carriedProject(obj client.Object) []string {
	if there, ok := work.Carried(obj.(*workv1.ManifestWork)); ok {
		return []string{there.Project()}
	}
	return nil
}

func (c *Checker) ofBinding(ctx context.Context, binding client.Object) []reconcile.Request {
	return loop.Requests(index.ApplicationsOfNamespace(ctx, c.Reader, binding.GetNamespace()))
}

func (c *Checker) ofSet(ctx context.Context, set client.Object) []reconcile.Request {
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	index.Must(ctx, c.list(ctx, bindings, client.MatchingFields{bySet: set.GetName()}))
	var out []reconcile.Request
	for i := range bindings.Items {
		out = append(out, c.ofBinding(ctx, &bindings.Items[i])...)
	}
	return out
}

// onDecision wakes the Applications of newly chosen clusters and of clusters no longer chosen. In a large fleet, a
// decision names a hundred clusters, and most changes affect a single cluster.
func (c *Checker) onDecision() handler.Funcs {
	enqueue := func(ctx context.Context, namespace string, clusters []string, q queue) {
		for _, cluster := range clusters {
			keys := index.ApplicationsOfNamespaceAndCluster(ctx, c.Reader, namespace, cluster)
			for _, request := range loop.Requests(append(keys, c.sentFrom(ctx, namespace, cluster)...)) {
				q.Add(request)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			enqueue(ctx, e.Object.GetNamespace(), index.DecidedBy(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := index.DecidedBy(e.ObjectOld), index.DecidedBy(e.ObjectNew)
			enqueue(ctx, e.ObjectNew.GetNamespace(), append(without(before, after), without(after, before)...), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			enqueue(ctx, e.Object.GetNamespace(), index.DecidedBy(e.Object), q)
		},
	}
}

// sentFrom returns the Applications of a hub namespace that have works on a cluster, also if the Applications ask for a
// different cluster now.
func (c *Checker) sentFrom(ctx context.Context, namespace, cluster string) []types.NamespacedName {
	return slices.DeleteFunc(index.ApplicationsOfWorks(ctx, c.Reader, client.InNamespace(cluster)),
		func(key types.NamespacedName) bool { return key.Namespace != namespace })
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
