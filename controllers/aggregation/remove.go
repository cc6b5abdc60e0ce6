package aggregation

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// page is how many Applications are asked for at a time.
const page = 500

// remove deletes the report of a set that has no Applications. The cache may be behind: only the API server's word
// counts. A report that is marked as nobody's is left alone.
func (r *Reconciler) remove(ctx context.Context, key types.NamespacedName, s *set) error {
	if s.published.exists() && s.published.ours {
		left, err := r.anyLeft(ctx, key)
		if err != nil {
			return err
		}
		if left {
			s.done(time.Now())
			return nil // the event that the cache is waiting for wakes the next reconcile
		}
		uid := s.published.meta.UID
		if err := r.Delete(ctx, metadata(key), client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return err
		}
		reportWrites.WithLabelValues("delete").Inc()
		ctrl.LoggerFrom(ctx).Info("Deleted the report: the ApplicationSet has no Applications for pull any more")
	}
	r.memory.forget(key)
	forgetCounts(key)
	return nil
}

// anyLeft asks the API server whether there is an Application of the set, page by page until there is one. It happens
// when a set has ended, not while it lives.
func (r *Reconciler) anyLeft(ctx context.Context, key types.NamespacedName) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind + "List"))
	for {
		err := r.Live.List(ctx, list, client.InNamespace(key.Namespace), client.HasLabels{apis.LabelPull},
			client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if of, ok := index.SetOf(&argocd.Application{ObjectMeta: list.Items[i].ObjectMeta}); ok && of == key {
				return true, nil
			}
		}
		if list.Continue == "" {
			return false, nil
		}
	}
}
