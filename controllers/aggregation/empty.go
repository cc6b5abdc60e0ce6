package aggregation

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
)

// errNotGenerated means: the ApplicationSet controller has not reported yet that all Applications of the set exist.
var errNotGenerated = errors.New("the ApplicationSet has not been generated yet")

// publishEmpty writes a report in Git without rows, because the ApplicationSet has no Applications. A new
// ApplicationSet also has none for a moment, and an empty report would count as healthy. So the ApplicationSet
// controller must first report that all Applications exist. Then the API server must have no Application of the set.
// Applications missing in the cache will come as events.
func (r *Reconciler) publishEmpty(ctx context.Context, key types.NamespacedName, s *set) error {
	generated, err := r.generated(ctx, key)
	if err != nil {
		return err
	}
	if !generated {
		return errNotGenerated
	}
	left, err := r.anyLeft(ctx, key)
	if err != nil {
		return err
	}
	if left {
		s.done(time.Now())
		return nil
	}
	return r.publish(ctx, key, s)
}

// generated reports whether the ApplicationSet controller reports that all Applications of the set exist.
func (r *Reconciler) generated(ctx context.Context, key types.NamespacedName) (bool, error) {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(hub.ApplicationSetKinds[0])
	if err := r.Live.Get(ctx, key, set); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	conditions, _, err := unstructured.NestedSlice(set.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, is := c.(map[string]any)
		return is && condition["type"] == "ResourcesUpToDate" && condition["status"] == string(metav1.ConditionTrue)
	}), err
}
