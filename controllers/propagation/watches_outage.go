package propagation

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// watchesOfOutages queues the Applications whose deletion waits for the end of an outage. The event is a
// PlacementDecision, in any namespace, that chooses the cluster again.
func watchesOfOutages(cached client.Reader, follows bool) []loop.Watch {
	if !follows {
		return nil // these Applications are reconciled every minute
	}
	return []loop.Watch{{Object: &clusterv1beta1.PlacementDecision{}, Handler: onChosen(cached)}}
}

// onChosen queues the Applications in deletion on newly chosen clusters of a PlacementDecision. Most changes of a large
// decision concern a single cluster.
func onChosen(cached client.Reader) handler.Funcs {
	enqueue := func(ctx context.Context, before, after []string, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, cluster := range after {
			if slices.Contains(before, cluster) {
				continue
			}
			for _, request := range loop.Requests(going(index.Applications(ctx, cached, index.ByCluster, cluster))) {
				q.Add(request)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, nil, index.DecidedBy(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, index.DecidedBy(e.ObjectOld), index.DecidedBy(e.ObjectNew), q)
		},
	}
}

// endsOfSets queues the Applications in deletion when the ApplicationSet is deleted or gets a new spec. An outage of
// the cluster is then not the reason of the deletion any more.
func endsOfSets(cached client.Reader) loop.Watch {
	whom := func(ctx context.Context, set client.Object) []reconcile.Request {
		return loop.Requests(going(index.Applications(ctx, cached, index.BySet, client.ObjectKeyFromObject(set).String())))
	}
	return loop.WatchOf(hub.ApplicationSet(), whom, predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	})
}

// going returns the keys of the Applications in deletion.
func going(apps []*argocd.Application) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, app := range apps {
		if !app.DeletionTimestamp.IsZero() {
			keys = append(keys, client.ObjectKeyFromObject(app))
		}
	}
	return keys
}
