package report

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// Set is the known state of the Applications of one ApplicationSet, by namespace and name of the hub Application.
type Set struct {
	entries map[types.NamespacedName]*entry

	// order has all entries, the most urgent first.
	order []*entry

	tally    Tally
	union    union
	failures failures

	// rowBytes is the size of all rows.
	rowBytes int

	// kept are the resources of an earlier report. waiting counts the Applications without observed resources since
	// that report: the kept resources may be theirs. waitingOn has the same count for each cluster.
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

// NewSet returns an empty set. kept are the resources of the last report before the start. The set keeps these
// resources until a source has reported the resources of every Application with resource counts in its row.
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

// Tally returns the counts. The maps belong to the set: the caller must not change the maps.
func (s *Set) Tally() Tally { return s.tally }

// Get returns the entry of an Application; nil without an entry.
func (s *Set) Get(app types.NamespacedName) *Entry {
	if e, ok := s.entries[app]; ok {
		return &e.Entry
	}
	return nil
}

// Put sets an Application's entry, and returns whether the entry changed.
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

// Delete removes an Application, and returns whether the set had the Application.
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

// count updates all counts; n is 1 or -1.
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

// Size returns the size of a report as JSON, in bytes.
func Size(r *v1alpha1.MulticlusterApplicationSetReport) int { return size(r) - 1 }

// size returns the JSON size of a row or a resource, including the following comma.
func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and times always encode
	}
	return len(data) + 1
}
