package resourcetree

import (
	"reflect"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// SetupWithManager registers the controller. concurrency is how many Applications are worked on at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	if err := leaderless.Hold(mgr.GetCache(), &argocd.Application{}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("resourcetree").
		For(&argocd.Application{}, builder.WithPredicates(changed())).
		WithOptions(retry.WhenLeading(concurrency)).
		Complete(r)
}

// changed lets through what an entry is made of, and a refresh that begins.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application)
		return shown(before) != shown(after) ||
			after.Refresh() != "" && before.Refresh() == "" ||
			!reflect.DeepEqual(before.Status.Resources, after.Status.Resources)
	}}
}
