package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// object is the pointer to a Kubernetes object type.
type object[T any] interface {
	*T
	client.Object
}

// Get reads an object into the given pointer and returns the pointer, or nil if the object does not exist (IsAbsent).
// An object from a cache is shared with the cache: the caller must not change the object.
func Get[T any, P object[T]](ctx context.Context, from client.Reader, key types.NamespacedName, into P) (P, error) {
	err := from.Get(ctx, key, into, client.UnsafeDisableDeepCopy)
	if IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return into, nil
}
