package propagation

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/work"
)

// olderWorks queues the Applications of works from an older controller without the label by which the cache selects.
// The Application itself may be gone. The controller reconciles no Application until the list is complete.
type olderWorks struct {
	reconciler *Reconciler
	found      chan struct{}
}

func watchOlder(r *Reconciler) *olderWorks { return &olderWorks{r, make(chan struct{})} }

// Start implements source.Source.
func (s *olderWorks) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		defer close(s.found)
		observeOlder(ctx, s.reconciler.Live, func(w client.Object) {
			if app, is := NoteOlder(s.reconciler, w); is {
				queue.Add(reconcile.Request{NamespacedName: app})
			}
		})
	}()
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *olderWorks) WaitForSync(ctx context.Context) error {
	select {
	case <-s.found:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// NoteOlder lets a Reconciler remember a work without the pull label, by its metadata, if the work is for an
// Application. NoteOlder returns the Application, and whether the work is noted.
func NoteOlder(r *Reconciler, w client.Object) (app types.NamespacedName, is bool) {
	if app, is = index.HubApplication(w); !is || w.GetLabels()[apis.LabelPull] != "" || !work.NamedAfter(w.GetName(), app.Name) {
		return app, false
	}
	r.uncached.note(app, client.ObjectKeyFromObject(w))
	return app, true
}
