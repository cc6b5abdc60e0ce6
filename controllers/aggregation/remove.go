package aggregation

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// page is the number of Applications in one page of a list.
const page = 500

// remove deletes the report of a set without Applications. The cache may be behind: only the API server can confirm
// that no Application is left. A report without the label of reports stays.
func (r *Reconciler) remove(ctx context.Context, key types.NamespacedName, s *set) error {
	if s.published.exists() && s.published.ours {
		left, err := r.anyLeft(ctx, key)
		if err != nil {
			return err
		}
		if left {
			s.done(time.Now())
			return nil // the missing event of the cache starts the next reconcile
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

// anyLeft asks the API server for an Application of the set, page by page until the first one. It is called only at the
// end of a set.
func (r *Reconciler) anyLeft(ctx context.Context, key types.NamespacedName) (bool, error) {
	left := false
	err := hub.Pages(ctx, r.Live, pageOfApplications, func(page *metav1.PartialObjectMetadataList, _ string) error {
		left = slices.ContainsFunc(page.Items, func(app metav1.PartialObjectMetadata) bool {
			of, ok := index.SetOf(&argocd.Application{ObjectMeta: app.ObjectMeta})
			return ok && of == key
		})
		if left {
			return hub.ErrEnough
		}
		return nil
	}, client.InNamespace(key.Namespace), client.HasLabels{apis.LabelPull}, client.Limit(page))
	return left, err
}

// pageOfApplications returns a list for the metadata of a page of Applications, without specs.
func pageOfApplications() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.Kind + "List"))
	return list
}
