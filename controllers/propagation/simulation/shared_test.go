package simulation

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestShared: stored versions of objects are never changed. Caches, live readers and versions share referenced memory,
// as the caches of the program share memory with readers.
func TestShared(t *testing.T) {
	for _, profile := range everyProfile {
		before, p := map[client.Object]client.Object{}, profile()
		p.stored = func(o client.Object) { before[o] = o.DeepCopyObject().(client.Object) }
		for seed := range uint64(30) {
			p.Run(seed)
		}
		for now, then := range before {
			if !equality.Semantic.DeepEqual(now, then) {
				t.Fatalf("this was changed:\n%+v\nto\n%+v", then, now)
			}
		}
	}
}
