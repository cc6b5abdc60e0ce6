// Package fetch reads single objects of which it matters whether they are there, and lists page by page.
package fetch

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
)

// object is one that can be read.
type object[T any] interface {
	*T
	client.Object
}

// Get is an object as a reader has it; nil when it says that there is none (gone.Is). What a cache answers is its own: not to
// be changed.
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
