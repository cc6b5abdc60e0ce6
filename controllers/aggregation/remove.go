package aggregation

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/fetch"
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
	left := false
	err := fetch.Pages(ctx, r.Live, pageOfApplications, func(page *metav1.PartialObjectMetadataList, _ string) error {
		left = slices.ContainsFunc(page.Items, func(app metav1.PartialObjectMetadata) bool {
			of, ok := index.SetOf(&argocd.Application{ObjectMeta: app.ObjectMeta})
			return ok && of == key
		})
		if left {
			return fetch.ErrEnough
		}
		return nil
	}, client.InNamespace(key.Namespace), client.HasLabels{apis.LabelPull}, client.Limit(page))
	return left, err
}

// pageOfApplications is a list to read a page of Applications into, without their specs.
func pageOfApplications() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind + "List"))
	return list
}
