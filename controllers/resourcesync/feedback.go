package resourcesync

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/work"
)

// Feedback is the source on every hub: the report of the work agent on the ManifestWork. Feedback needs no add-on on
// the cluster, and knows no resources.
type Feedback struct {
	// Client reads the shared cache.
	Client client.Client

	// Cache is the shared cache, for the watch.
	Cache cache.Cache
}

var _ Source = &Feedback{}

// Name implements Source.
func (*Feedback) Name() string { return "feedback" }

// Facts implements Source. The hub decides which work counts: the Application's own work.
func (f *Feedback) Facts(ctx context.Context, app *argocd.Application) (*observed.Facts, error) {
	w := &workv1.ManifestWork{}
	if err := f.Client.Get(ctx, work.Key(app), w, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	seen := feedback.Parse(&w.Status, work.Identifier(app))
	noteRejected(ctx, f.Name(), work.Key(app), feedback.Text(&w.Status, seen.Rejected...), "", seen.Rejected)
	if seen.Empty() && !seen.Complete {
		return nil, nil
	}
	facts := &observed.Facts{
		Source: f.Name(), UID: seen.UID, Version: seen.Version, ReadAt: seen.ReadAt, Status: seen.Status, Complete: seen.Complete,
		Hydrating: seen.Hydrating, Compared: seen.Status.ReconciledAt != "" || seen.Complete && seen.Version != "",
	}
	if !facts.Compared { // the time is a lower bound: the hub may know of a later comparison
		facts.Status.ReconciledAt = seen.ComparedSince
	}
	if o := facts.Status.OperationState; o != nil && seen.TellsCompared && seen.ComparedSince == "" {
		facts.Uncompared = o.FinishedAt
	}
	return facts, nil
}

// Changes implements Source.
func (f *Feedback) Changes(request func(types.NamespacedName) []reconcile.Request) source.Source {
	return source.Kind(f.Cache, &workv1.ManifestWork{}, ofApplications[*workv1.ManifestWork](f.Client, request), reportChanged())
}

// ofApplications returns a handler with the requests for the Applications of a work. Objects with the name of the work
// have the same Applications.
func ofApplications[T client.Object](apps client.Reader, request func(types.NamespacedName) []reconcile.Request,
) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, of T) (requests []reconcile.Request) {
		for _, app := range index.ApplicationsOfWork(ctx, apps, client.ObjectKeyFromObject(of)) {
			requests = append(requests, request(app)...)
		}
		return requests
	})
}

// reportChanged passes changes of the work agent's report, and not the hub's writes to a work.
func reportChanged() predicate.TypedPredicate[*workv1.ManifestWork] {
	return predicate.TypedFuncs[*workv1.ManifestWork]{
		UpdateFunc: func(e event.TypedUpdateEvent[*workv1.ManifestWork]) bool {
			return !equality.Semantic.DeepEqual(e.ObjectOld.Status, e.ObjectNew.Status)
		},
		DeleteFunc: func(event.TypedDeleteEvent[*workv1.ManifestWork]) bool { return false },
	}
}
