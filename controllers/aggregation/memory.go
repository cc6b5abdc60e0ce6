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

// memory is what is kept of all sets.
type memory struct {
	mu   sync.Mutex
	sets map[types.NamespacedName]*set
}

// set is what is kept of one ApplicationSet. Events add to changed; everything else belongs to the one reconcile that
// may run for the set at a time.
type set struct {
	mu sync.Mutex

	// changed are the Applications to look at.
	changed map[types.NamespacedName]struct{}

	// since is when the oldest change came that has not been looked at, and taken when the oldest came of those
	// that are being looked at or written.
	since, taken time.Time

	// rows is nil until everything has been looked at once.
	rows *report.Set

	// dirty is set when rows may say something else than the report.
	dirty bool

	// before are the rows that the report had at the start, by what they call their Application, until all have been
	// looked at; resources are those that it listed.
	before    map[string]v1alpha1.ClusterCondition
	resources []v1alpha1.ReportedResource

	// published is the report as the hub has it; nil when that is not known. It is of the CRD that was the hub's before it was
	// replaced so many times.
	published *published
	replaced  int

	// size is how large the report was when it was last written, and paid when that has been paid for; see pace.go.
	size int
	paid time.Time

	// omitted is how many rows it has no room for.
	omitted int
}

// set finds what is kept of a set, or starts to keep it.
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

// all are the sets that are kept.
func (m *memory) all() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.sets))
}

// forget drops what is kept of a set. Should there be a change that nobody has looked at, its reconcile is on its way
// and starts from nothing, which is to look at everything.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, key)
}

// oldest is when the oldest change came that is not in its report; zero when there is none.
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

// busy is the number of sets whose report lags behind.
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

// mark notes that Applications have to be looked at.
func (s *set) mark(now time.Time, apps ...types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, app := range apps {
		s.changed[app] = struct{}{}
	}
	s.since = earliest(s.since, now)
}

// take is what is to be looked at.
func (s *set) take() map[types.NamespacedName]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.changed
	s.changed = map[types.NamespacedName]struct{}{}
	s.taken, s.since = earliest(s.taken, s.since), time.Time{}
	return taken
}

// done notes that the report says all that was taken.
func (s *set) done(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken.IsZero() {
		reportDelay.Observe(now.Sub(s.taken).Seconds())
	}
	s.taken = time.Time{}
}

// earliest is the earlier of two times of which either may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
