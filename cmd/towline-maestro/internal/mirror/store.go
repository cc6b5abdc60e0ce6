package mirror

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

// history is how many changes are kept for watches that come back. Each keeps two states of a work, of which most is shared.
const history = 8192

// A Change is what became of a work, for those who watch.
type Change struct {
	// Type is watch.Added, watch.Modified or watch.Deleted.
	Type watch.EventType

	// Work is the work after the change, and Was before it: nil if there was none. Both are shared, and not to be changed.
	Work, Was *workv1.ManifestWork

	// Version is the resourceVersion of the change.
	Version uint64
}

// store holds works, and what became of them lately. Its works are shared, and never changed.
type store struct {
	mu      sync.RWMutex
	works   map[types.NamespacedName]*bundle.Bundle
	names   map[string]types.NamespacedName // by the id in Maestro
	source  string
	version uint64
	first   uint64 // the version before the oldest of changes
	changes []Change
	changed chan struct{} // closed at the next change
	filled  bool
}

// newStore begins with a version that no earlier process has reached: one second gives a billion.
func newStore(source string, now time.Time) *store {
	version := uint64(now.UnixNano()) //nolint:gosec // the time is after 1970
	return &store{
		works: map[types.NamespacedName]*bundle.Bundle{}, names: map[string]types.NamespacedName{}, source: source,
		version: version, first: version, changed: make(chan struct{}),
	}
}

// get is the work of that name; nil if there is none.
func (s *store) get(name types.NamespacedName) *bundle.Bundle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.works[name]
}

// byID is the work with that id in Maestro; nil if there is none.
func (s *store) byID(id string) *bundle.Bundle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.works[s.names[id]]
}

// ids are those of all works.
func (s *store) ids() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.names))
}

// all are the works of one moment, in the order of their names, and the version of that moment.
func (s *store) all(namespace string) ([]*workv1.ManifestWork, uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*workv1.ManifestWork
	for name, b := range s.works {
		if namespace == "" || name.Namespace == namespace {
			out = append(out, b.Work)
		}
	}
	slices.SortFunc(out, byName)
	return out, s.version
}

// set takes what Maestro has of a work, and gives what the mirror shows of it. What is no change gets no new version.
func (s *store) set(b *bundle.Bundle) *workv1.ManifestWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := types.NamespacedName{Namespace: b.Work.Namespace, Name: b.Work.Name}
	was := s.works[name]
	change := Change{Type: watch.Added, Work: b.Work}
	if was != nil && was.Work.UID != b.Work.UID {
		s.drop(name, was)
		was = nil
	}
	if was != nil {
		if same(was.Work, b.Work) {
			s.works[name] = &bundle.Bundle{Work: was.Work, Sequence: b.Sequence}
			return was.Work
		}
		// Maestro's clock is not the one by which the work was answered when it was made.
		b.Work.CreationTimestamp = was.Work.CreationTimestamp
		change.Type, change.Was = watch.Modified, was.Work
	}
	s.version++
	b.Work.ResourceVersion = strconv.FormatUint(s.version, 10)
	change.Version = s.version
	s.works[name], s.names[b.ID(s.source)] = b, name
	s.record(change)
	return b.Work
}

// remove forgets a work.
func (s *store) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.names[id]
	if !ok {
		return
	}
	s.drop(name, s.works[name])
}

// drop needs the lock.
func (s *store) drop(name types.NamespacedName, b *bundle.Bundle) {
	delete(s.works, name)
	delete(s.names, b.ID(s.source))
	s.version++
	last := b.Work.DeepCopy()
	last.ResourceVersion = strconv.FormatUint(s.version, 10)
	s.record(Change{Type: watch.Deleted, Work: last, Was: b.Work, Version: s.version})
}

// record needs the lock.
func (s *store) record(c Change) {
	if len(s.changes) >= 2*history {
		kept := slices.Clone(s.changes[history:])
		s.first, s.changes = s.changes[history-1].Version, kept
	}
	s.changes = append(s.changes, c)
	close(s.changed)
	s.changed = make(chan struct{})
}

// after are the changes after a version, and the channel that closes at the next. It is false where some of them are gone, or the
// version is of another process.
func (s *store) after(version uint64) ([]Change, <-chan struct{}, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if version < s.first || version > s.version {
		return nil, nil, false
	}
	i, _ := slices.BinarySearchFunc(s.changes, version, func(c Change, v uint64) int {
		if c.Version <= v {
			return -1
		}
		return 1
	})
	return s.changes[i:len(s.changes):len(s.changes)], s.changed, true
}

// fill says that all works of Maestro are there.
func (s *store) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filled = true
}

func (s *store) isFilled() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.filled
}

// same tells whether two states of a work show the same.
func same(a, b *workv1.ManifestWork) bool {
	return a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.Status, b.Status)
}

// byName orders works.
func byName(a, b *workv1.ManifestWork) int {
	if a.Namespace != b.Namespace {
		if a.Namespace < b.Namespace {
			return -1
		}
		return 1
	}
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}
