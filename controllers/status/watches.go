package status

import (
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
//
// Every change of an Application is looked at, our own writes included: a comparison in memory finds that there is
// nothing to do, and what someone else wrote over is put right.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&argocd.Application{}).
		WithOptions(retry.Options(concurrency))
	for _, s := range r.Inventory.Sources {
		b.WatchesRawSource(s.Changes(itself))
	}
	return b.Complete(r)
}

// itself asks for the reconcile of the Application that there are new facts of.
func itself(app types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: app}}
}
