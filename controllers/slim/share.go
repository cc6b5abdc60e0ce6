package slim

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// intern makes strings that are the same in many objects one. It forgets those that no object has any more.
func intern(strings ...*string) {
	for _, s := range strings {
		if *s != "" {
			*s = unique.Make(*s).Value()
		}
	}
}

func interned(strings []string) {
	for i := range strings {
		intern(&strings[i])
	}
}

// same lets strings of one object that equal the first one share its bytes.
func same(first string, others ...*string) {
	for _, s := range others {
		if *s == first {
			*s = first
		}
	}
}

// keys makes a map share its keys and values with others. An assignment replaces the key as well.
func keys(m map[string]string) {
	for k, v := range m {
		if k != apis.AnnotationHubName { // which no two objects share
			v = unique.Make(v).Value()
		}
		m[unique.Make(k).Value()] = v
	}
}

// exact is a slice without room for more: a decoder leaves up to as much again.
func exact[T any](s []T) []T {
	if len(s) == 0 || len(s) == cap(s) {
		return s
	}
	out := make([]T, len(s))
	copy(out, s)
	return out
}

func conditions(in []metav1.Condition) []metav1.Condition {
	out := exact(in)
	for i := range out {
		c := &out[i]
		intern(&c.Type, &c.Reason, &c.Message)
		c.Status = unique.Make(c.Status).Value()
	}
	return out
}
