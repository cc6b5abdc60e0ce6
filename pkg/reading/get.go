package reading

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get is the object of that name; nil where there is none, or can be none: an Application may say any words in the place of its cluster,
// and a client makes no request to such a namespace.
func Get[T client.Object](ctx context.Context, c client.Reader, key types.NamespacedName, into T) (T, error) {
	var none T
	if len(path.IsValidPathSegmentName(key.Namespace))+len(path.IsValidPathSegmentName(key.Name)) > 0 {
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
