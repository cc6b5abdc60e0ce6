package aggregation

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// memory is the memory of all sets.
type memory struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]*set
}

// set is the memory of one ApplicationSet. Events add to changed. All remaining fields belong to the reconcile of the
// set, of which at most one runs at a time.
type set struct {
	mu sync.Mutex

	// changed are the Applications to read again.
	changed map[types.NamespacedName]struct{}

	// since is the time of the oldest unhandled change. taken is the time of the oldest change in the current reconcile
	// or write.
	since, taken time.Time

	// rows is nil until all Applications have been read once.
	rows *report.Set

	// dirty is set if rows may differ from the report.
	dirty bool

	// before are the rows of the report at the start, by the App field of the row, until all Applications have been
	// read. resources are the resources in this report.
	before    map[string]v1alpha1.ClusterCondition
	resources []v1alpha1.ReportedResource

	// published is the hub's version of the report; nil for unknown. replaced is the number of CRD changes seen when
	// published was read.
	published *published
	replaced  int

	// size is the size of the report at the last write, in bytes. paid is the time until which past writes are paid
	// for; see pace.go.
	size int
	paid time.Time

	// omitted is the number of rows that do not fit into the report.
	omitted int
}

// set returns the memory of a set, after creating a new memory if necessary.
func (m *memory) set(key types.NamespacedName) *set {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sets[key]
	if !ok {
		if m.sets == nil {
			m.sets = map[types.NamespacedName]*set{}
		}
		s = newSet()
		m.sets[key] = s
	}
	return s
}

func newSet() *set { return &set{changed: map[types.NamespacedName]struct{}{}} }

// all returns the keys of all remembered sets.
func (m *memory) all() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.sets))
}

// forget drops the memory of a set. An unhandled change is not lost: the reconcile in the queue starts with an empty
// memory, and reads all Applications.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, key)
}

// oldest returns the time of the oldest change missing in a report; zero for none.
func (m *memory) oldest() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	var oldest time.Time
	for _, s := range m.sets {
		s.mu.Lock()
		oldest = earliest(oldest, earliest(s.since, s.taken))
		s.mu.Unlock()
	}
	return oldest
}

// busy returns the number of sets with an outdated report.
func (m *memory) busy() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range m.sets {
		s.mu.Lock()
		if !s.since.IsZero() || !s.taken.IsZero() {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// mark notes that Applications must be read again.
func (s *set) mark(now time.Time, apps ...types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, app := range apps {
		s.changed[app] = struct{}{}
	}
	s.since = earliest(s.since, now)
}

// take returns the Applications to read, and moves since to taken.
func (s *set) take() map[types.NamespacedName]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.changed
	s.changed = map[types.NamespacedName]struct{}{}
	s.taken, s.since = earliest(s.taken, s.since), time.Time{}
	return taken
}

// done notes that the report contains all taken changes.
func (s *set) done(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken.IsZero() {
		reportDelay.Observe(now.Sub(s.taken).Seconds())
	}
	s.taken = time.Time{}
}

// earliest returns the earlier of two times. A zero time does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
