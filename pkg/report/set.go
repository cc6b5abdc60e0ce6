package report

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// Set is what is known of the Applications of one ApplicationSet, by namespace and name of the hub Application.
type Set struct {
	entries map[types.NamespacedName]*entry

	// order is all entries, those that need attention first.
	order []*entry

	tally    Tally
	union    union
	failures failures

	// rowBytes is the size of all rows.
	rowBytes int

	// kept are the resources that an earlier report listed; waiting is how many Applications may have some of
	// them, as no source has told of their resources since, and waitingOn how many of those a cluster has.
	kept      []v1alpha1.ReportedResource
	waiting   int
	waitingOn map[string]int
}

type entry struct {
	Entry
	key  types.NamespacedName
	rank rank
	size int
}

// NewSet is an empty set. kept are the resources that the report listed before anything was known here: they stay
// until a source has told of the resources of every Application whose row counts some.
func NewSet(kept []v1alpha1.ReportedResource) *Set {
	return &Set{
		entries:  map[types.NamespacedName]*entry{},
		tally:    newTally(),
		union:    union{users: map[v1alpha1.ResourceRef]int{}},
		failures: failures{},
		kept:     kept,

		waitingOn: map[string]int{},
	}
}

// Len is the number of Applications.
func (s *Set) Len() int { return len(s.order) }

// Tally counts the Applications. Its maps are the set's own.
func (s *Set) Tally() Tally { return s.tally }

// Get is the entry of an Application; nil when there is none.
func (s *Set) Get(app types.NamespacedName) *Entry {
	if e, ok := s.entries[app]; ok {
		return &e.Entry
	}
	return nil
}

// Put makes an Application's entry what is given, and tells whether that changes anything.
func (s *Set) Put(app types.NamespacedName, now Entry) bool {
	before := s.entries[app]
	if before != nil {
		if reflect.DeepEqual(before.Entry, now) {
			return false
		}
		s.remove(before)
	}
	e := &entry{Entry: now, key: app, rank: rankOf(&now.Row), size: size(&now.Row)}
	s.entries[app] = e
	at, _ := slices.BinarySearchFunc(s.order, e, compareEntries)
	s.order = slices.Insert(s.order, at, e)
	s.count(e, 1)
	return true
}

// Delete takes an Application out, and tells whether it was there.
func (s *Set) Delete(app types.NamespacedName) bool {
	e, ok := s.entries[app]
	if ok {
		s.remove(e)
	}
	return ok
}

func (s *Set) remove(e *entry) {
	delete(s.entries, e.key)
	if at, found := slices.BinarySearchFunc(s.order, e, compareEntries); found {
		s.order = slices.Delete(s.order, at, at+1)
	}
	s.count(e, -1)
}

// count keeps all that is counted; n is 1 or -1.
func (s *Set) count(e *entry, n int) {
	s.tally.add(&e.Row, n)
	s.union.add(e.Resources, n)
	s.failures.count(e, n)
	s.rowBytes += n * e.size
	if !e.Detailed && e.Row.ResourceCounts != nil {
		s.waiting += n
		s.waitingOn[e.Row.Cluster] += n
	}
}

func compareEntries(a, b *entry) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.Row.Cluster, b.Row.Cluster),
		cmp.Compare(a.key.Namespace, b.key.Namespace),
		cmp.Compare(a.key.Name, b.key.Name),
	)
}

// Size is what a report takes as JSON.
func Size(r *v1alpha1.MulticlusterApplicationSetReport) int { return size(r) - 1 }

// size is what a row or a resource takes in the report, with the comma after it.
func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and times always encode
	}
	return len(data) + 1
}
