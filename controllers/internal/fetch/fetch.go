// Package fetch reads single objects that may be absent, and reads lists page by page.
package fetch

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
)

// object is the pointer to a Kubernetes object type.
type object[T any] interface {
	*T
	client.Object
}

// Get reads an object into the given pointer and returns the pointer, or nil if the object does not exist (gone.Is). An
// object from a cache is shared with the cache: the caller must not change the object.
func Get[T any, P object[T]](ctx context.Context, from client.Reader, key types.NamespacedName, into P) (P, error) {
	err := from.Get(ctx, key, into, client.UnsafeDisableDeepCopy)
	if gone.Is(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return into, nil
}
