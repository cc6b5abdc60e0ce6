package reading

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get returns the named object; nil for a missing object, or for an impossible name. An Application may have any text
// in place of its cluster, and a client sends no request for such a namespace.
func Get[T client.Object](ctx context.Context, c client.Reader, key types.NamespacedName, into T) (T, error) {
	var none T
	if len(content.IsPathSegmentName(key.Namespace))+len(content.IsPathSegmentName(key.Name)) > 0 {
		return none, nil
	}
	err := c.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	return into, nil
}
