package hub

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// store keeps values by their source object and by cluster. A store without kept is empty.
type store[T comparable] struct {
	// of returns the source object of a value, and its cluster.
	of func(T) (types.NamespacedName, string)

	kept     map[types.NamespacedName]T
	clusters map[string]*block[T]
}

// block has the values of a cluster. A block is immutable: a change creates a new block.
type block[T comparable] struct{ values []T }

// set keeps a value. The result is false if the store already has an equal value.
func (s *store[T]) set(v T) bool {
	if s.kept == nil {
		s.kept, s.clusters = map[types.NamespacedName]T{}, map[string]*block[T]{}
	}
	key, cluster := s.of(v)
	if old, had := s.kept[key]; had && old == v {
		return false
	}
	s.remove(key)
	s.kept[key] = v
	var values []T
	if b := s.clusters[cluster]; b != nil {
		values = b.values
	}
	// append does not change the previous block: the new value is behind the end of its slice, and each slice is
	// appended to only once.
	s.clusters[cluster] = &block[T]{append(values, v)}
	return true
}

// remove removes a value. The result is false if the store has no value for key.
func (s *store[T]) remove(key types.NamespacedName) bool {
	old, had := s.kept[key]
	if !had {
		return false
	}
	delete(s.kept, key)
	_, cluster := s.of(old)
	values := slices.Clone(s.clusters[cluster].values)
	n := slices.Index(values, old)
	if values = slices.Delete(values, n, n+1); len(values) == 0 {
		delete(s.clusters, cluster)
	} else {
		s.clusters[cluster] = &block[T]{values}
	}
	return true
}
