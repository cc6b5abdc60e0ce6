package trim

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// table holds values that many objects have in common, each in the slot that its hash says. One that comes to a slot
// that is taken takes it over: what was shared stays so, and what is rare is not held for ever.
//
// Sharing took the memory of 10,000 Applications from 356 to 224 MiB after a restart (docs/scale.md).
type table[T any] struct {
	mu    sync.Mutex
	slots []T
	equal func(a, b T) bool
}

func newTable[T any](size int, equal func(a, b T) bool) *table[T] {
	return &table[T]{slots: make([]T, size), equal: equal}
}

// share is the value that says the same and came first.
func (t *table[T]) share(hash uint64, value T) T {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := &t.slots[hash%uint64(len(t.slots))]
	if !t.equal(*slot, value) {
		*slot = value
	}
	return *slot
}

// find is the value that says the same, if there is one.
func (t *table[T]) find(hash uint64, value T) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.slots[hash%uint64(len(t.slots))]
	return found, t.equal(found, value)
}

// The tables: the Applications of an ApplicationSet agree in labels, owner, finalizers and often in all of their spec,
// and so do their works, and what the agents say of them; the Applications of a cluster agree in annotations.
var (
	mapTable       = newTable(4096, maps.Equal[map[string]string])
	ownerTable     = newTable(512, func(a, b []metav1.OwnerReference) bool { return reflect.DeepEqual(a, b) })
	listTable      = newTable(512, slices.Equal[[]string])
	specTable      = newTable(256, bytes.Equal)
	conditionTable = newTable(512, slices.Equal[[]metav1.Condition])
	textTable      = newTable(2048, func(a, b *string) bool { return a != nil && *a == *b })
)

// maxShared is how large a text may be, in bytes, to be looked for among the others.
const maxShared = 8 << 10
