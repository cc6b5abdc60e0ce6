package hub

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// store keeps values by the objects they were made of, and by cluster. It is empty without kept.
type store[T comparable] struct {
	// of tells what a value was made of, and the cluster it belongs to.
	of func(T) (types.NamespacedName, string)

	kept     map[types.NamespacedName]T
	clusters map[string]*block[T]
}

// block are the values of a cluster. It does not change: where they do, another one takes its place.
type block[T comparable] struct{ values []T }

// set keeps a value; it is false where that was kept already.
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
	// What is appended is behind the values of the block before, which stays as it is: only the last block of a cluster is appended to.
	s.clusters[cluster] = &block[T]{append(values, v)}
	return true
}

// remove lets go of a value; it is false where there was none.
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
