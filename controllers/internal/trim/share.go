package trim

import (
	"hash/maphash"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
)

// intern makes equal strings of many objects share memory. An interned string is freed when no object has the string
// any more.
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

// same makes strings equal to first share the bytes of first, within an object.
func same(first string, others ...*string) {
	for _, s := range others {
		if *s == first {
			*s = first
		}
	}
}

// exact returns a slice without spare capacity: a decoder may leave a capacity of double the length.
func exact[T any](s []T) []T {
	if len(s) == 0 || len(s) == cap(s) {
		return s
	}
	out := make([]T, len(s))
	copy(out, s)
	return out
}

var seed = maphash.MakeSeed()

// sharedMap returns a map shared by several objects. The annotations of a work differ in every work: sharedMap then
// returns the object's own map, with shared keys and values.
func sharedMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return m
	}
	if _, own := m[apis.AnnotationHubName]; own {
		for k, v := range m {
			if k != apis.AnnotationHubName {
				v = unique.Make(v).Value()
			}
			m[unique.Make(k).Value()] = v // an assignment replaces the key as well
		}
		return m
	}
	var hash uint64
	size := 0
	for k, v := range m { // the sum does not depend on the order
		hash += maphash.Comparable(seed, [2]string{k, v})
		size += len(k) + len(v)
	}
	if size > maxShared {
		return m
	}
	if first, ok := mapTable.find(hash, m); ok {
		return first
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[unique.Make(k).Value()] = unique.Make(v).Value()
	}
	return mapTable.share(hash, out)
}

func sharedOwners(refs []metav1.OwnerReference) []metav1.OwnerReference {
	if len(refs) != 1 || len(refs[0].Name) > maxShared { // an Application has a single owner
		return refs
	}
	return ownerTable.share(maphash.String(seed, string(refs[0].UID)), refs)
}

func sharedList(list []string) []string {
	if len(list) == 0 {
		return list
	}
	var hash uint64
	size := 0
	for _, s := range list {
		hash = hash*31 + maphash.String(seed, s)
		size += len(s)
	}
	if size > maxShared {
		return list
	}
	return listTable.share(hash, list)
}

func sharedSpec(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > maxShared {
		return raw
	}
	return specTable.share(maphash.Bytes(seed, raw), raw)
}

func sharedText(s *string) *string {
	if len(*s) > maxShared {
		return s
	}
	return textTable.share(maphash.String(seed, *s), s)
}

// conditions returns the object's own conditions with shared texts.
func conditions(in []metav1.Condition) []metav1.Condition {
	out := exact(in)
	for i := range out {
		c := &out[i]
		intern(&c.Type, &c.Reason, &c.Message)
		c.Status = unique.Make(c.Status).Value()
	}
	return out
}

// sharedConditions returns the conditions of a work agent without their times, except the time of
// feedback.ConditionSynced. The time of ConditionSynced tells since when the agent has read the reported values. With
// this time, the list is the work's own, with shared texts.
func sharedConditions(in []metav1.Condition) []metav1.Condition {
	if len(in) == 0 {
		return in
	}
	out, size, timed := exact(in), 0, false
	for i := range out {
		if out[i].Type == feedback.ConditionSynced {
			timed = timed || !out[i].LastTransitionTime.IsZero()
		} else if !out[i].LastTransitionTime.IsZero() { // do not write a zero time: the list may be shared already
			out[i].LastTransitionTime = metav1.Time{}
		}
		size += len(out[i].Message)
	}
	switch {
	case size > maxShared:
		return out
	case timed:
		return conditions(out)
	}
	var hash uint64
	for i := range out {
		hash = hash*31 + maphash.Comparable(seed, out[i])
	}
	return conditionTable.share(hash, out)
}
