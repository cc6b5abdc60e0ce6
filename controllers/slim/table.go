package slim

import (
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// table holds values that many objects have in common, by what they say. When it is full it starts anew: what was
// shared stays so, and what is rare is not held for ever.
type table[T any] struct {
	mu     sync.Mutex
	values map[string]T
	limit  int
}

func newTable[T any](limit int) *table[T] { return &table[T]{values: map[string]T{}, limit: limit} }

// share is the value that says the same and came first.
func (t *table[T]) share(key string, value T) T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, ok := t.values[key]; ok {
		return first
	}
	if len(t.values) >= t.limit {
		clear(t.values)
	}
	t.values[key] = value
	return value
}

// The tables: the Applications of an ApplicationSet agree in labels, owner, finalizers and often in all of their spec,
// and so do their works.
var (
	labels = newTable[map[string]string](1024)
	owners = newTable[[]metav1.OwnerReference](1024)
	lists  = newTable[[]string](1024)
	specs  = newTable[[]byte](256)
)

// maxSpec is how large a spec may be, in bytes, to be looked for among the others.
const maxSpec = 8 << 10

func sharedLabels(m map[string]string) map[string]string {
	if len(m) == 0 {
		return m
	}
	pairs := make([]string, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, k+"\x00"+v)
	}
	slices.Sort(pairs)
	return labels.share(strings.Join(pairs, "\x00\x00"), m)
}

// sharedOwners knows one owner, which is what Applications have, by its UID and flags.
func sharedOwners(refs []metav1.OwnerReference) []metav1.OwnerReference {
	if len(refs) != 1 {
		return refs
	}
	return owners.share(refs[0].String(), refs)
}

func sharedList(list []string) []string {
	if len(list) == 0 {
		return list
	}
	return lists.share(strings.Join(list, "\x00"), list)
}

func sharedSpec(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > maxSpec {
		return raw
	}
	return specs.share(string(raw), raw)
}
