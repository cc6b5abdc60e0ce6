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

	"github.com/towline-io/towline/controllers/internal/sets"
)

// errNotGenerated is when the ApplicationSet controller has not said yet that it made the Applications of a set.
var errNotGenerated = errors.New("the ApplicationSet has not been generated yet")

// publishEmpty makes a report that is in Git say that its ApplicationSet has no Applications. A new one has none for a moment as well,
// and would count as healthy. So the set's controller must have said that it made all, and the API server, which is asked after that,
// that there is none. The Applications that the cache does not know yet are events to come.
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

// generated tells whether the set's controller says that it made all Applications.
func (r *Reconciler) generated(ctx context.Context, key types.NamespacedName) (bool, error) {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(sets.Kinds[0])
	if err := r.Live.Get(ctx, key, set); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	conditions, _, err := unstructured.NestedSlice(set.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, is := c.(map[string]any)
		return is && condition["type"] == "ResourcesUpToDate" && condition["status"] == string(metav1.ConditionTrue)
	}), err
}
