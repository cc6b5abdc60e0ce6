package mirror

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/btree"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

// history is the smallest number of recent changes kept for returning watches. Each change keeps two states of a work.
// The two states share most of the memory.
const history = 8192

// A Change is a change of a work, for watches.
type Change struct {
	// Type is watch.Added, watch.Modified or watch.Deleted.
	Type watch.EventType

	// Work is the work after the change. Was is the work before the change, or nil for a new work. Both works are
	// shared, and must not be changed.
	Work, Was *workv1.ManifestWork

	// Version is the resourceVersion of the change.
	Version uint64
}

// store holds the works and the recent changes. The works in the store are shared, and never changed.
type store struct {
	mu      sync.RWMutex
	works   *btree.BTreeG[shown]
	past    map[types.NamespacedName][]*bundle.Bundle // earlier bundles of works, the earliest first: see bundle.SameShape
	names   map[string]types.NamespacedName           // names of the works, by the ids of all bundles
	version uint64
	first   uint64 // version before the oldest entry of changes
	changes []Change
	changed chan struct{} // closed at the next change
	filled  bool
}

// shown is the shown bundle of a work. The store orders the entries by name.
type shown struct {
	name types.NamespacedName
	*bundle.Bundle
}

func (a shown) before(b shown) bool {
	return a.name.Namespace < b.name.Namespace || a.name.Namespace == b.name.Namespace && a.name.Name < b.name.Name
}

// newStore starts with the time in nanoseconds as the version. No earlier process has reached the version: one second
// gives a billion versions.
func newStore(now time.Time) *store {
	version := uint64(now.UnixNano())
	return &store{
		works: btree.NewG(32, shown.before), past: map[types.NamespacedName][]*bundle.Bundle{}, names: map[string]types.NamespacedName{},
		version: version, first: version, changed: make(chan struct{}),
	}
}

// get returns the work with a name, or nil.
func (s *store) get(name types.NamespacedName) *bundle.Bundle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.shown(name)
}

// shown returns the shown bundle of a work, or nil. The caller has the lock.
func (s *store) shown(name types.NamespacedName) *bundle.Bundle {
	found, _ := s.works.Get(shown{name: name})
	return found.Bundle
}

// byID returns the bundle with an id in Maestro, or nil.
func (s *store) byID(id string) *bundle.Bundle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	name, ok := s.names[id]
	if !ok {
		return nil
	}
	if i := s.earlier(name, id); i >= 0 {
		return s.past[name][i]
	}
	return s.shown(name)
}

// earlier returns the index of a bundle among the earlier bundles of a work, or a negative number. The caller has the
// lock.
func (s *store) earlier(name types.NamespacedName, id string) int {
	return slices.IndexFunc(s.past[name], func(b *bundle.Bundle) bool { return b.ID == id })
}

// nameOf returns the name of the work of a known bundle.
func (s *store) nameOf(id string) (types.NamespacedName, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	name, ok := s.names[id]
	return name, ok
}

// pastIDs returns the ids of all earlier bundles of all works.
func (s *store) pastIDs() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []string
	for _, bundles := range s.past {
		for _, b := range bundles {
			out = append(out, b.ID)
		}
	}
	return out
}

// pastOf returns the earlier bundles of a work, the earliest first.
func (s *store) pastOf(name types.NamespacedName) []*bundle.Bundle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.past[name])
}

// keep adds a bundle to the earlier bundles of the work, or replaces the bundle. The caller has the lock.
func (s *store) keep(b *bundle.Bundle) {
	name, id := b.Name(), b.ID
	s.forget(name, id)
	s.past[name] = append(s.past[name], b)
	slices.SortFunc(s.past[name], func(a, b *bundle.Bundle) int {
		if b.After(a) {
			return -1
		}
		return 1
	})
}

// forget removes a bundle from the earlier bundles of the work. forget returns false if the bundle was not an earlier
// bundle. The caller has the lock.
func (s *store) forget(name types.NamespacedName, id string) bool {
	i := s.earlier(name, id)
	if i < 0 {
		return false
	}
	if s.past[name] = slices.Delete(s.past[name], i, i+1); len(s.past[name]) == 0 {
		delete(s.past, name)
	}
	return true
}

// ids returns the ids of all bundles.
func (s *store) ids() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.names))
}

// all returns the works in the order of the names, as of the returned version. all copies no work: a later change
// writes new nodes of the tree.
func (s *store) all(namespace string, after types.NamespacedName) (iter.Seq[*workv1.ManifestWork], uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	works := s.works.Clone()
	if namespace > after.Namespace {
		after = types.NamespacedName{Namespace: namespace}
	}
	return func(yield func(*workv1.ManifestWork) bool) {
		works.AscendGreaterOrEqual(shown{name: after}, func(b shown) bool {
			switch {
			case b.name == after:
				return true
			case namespace != "" && b.name.Namespace != namespace:
				return false
			}
			return yield(b.Work)
		})
	}, s.version
}

// set stores the state of a bundle from Maestro. If a work has several bundles, the store shows the latest bundle.
func (s *store) set(b *bundle.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, id := b.Name(), b.ID
	was := s.shown(name)
	s.names[id] = name
	switch {
	case was == nil || was.ID == id:
		s.show(b)
	case b.After(was):
		s.forget(name, id)
		s.keep(was)
		s.show(b)
	default:
		s.keep(b)
	}
}

// show makes b the shown bundle of the work. An equal work gets no new version. The caller has the lock.
func (s *store) show(b *bundle.Bundle) {
	name := b.Name()
	was := s.shown(name)
	change := Change{Type: watch.Added, Work: b.Work}
	if was != nil && was.Work.UID != b.Work.UID {
		s.hide(was)
		was = nil
	}
	b.Told = time.Now()
	if was != nil {
		if b.Sequence == "" && len(was.Work.Status.Conditions) > 0 {
			// The agent has not reported on the new bundle yet. The work keeps the status from the bundle before.
			b.Work.Status, b.Work.ManagedFields = was.Work.Status, was.Work.ManagedFields
		}
		if was.Began() == b.Began() {
			b.Told = was.Told
		}
		if was.Shape == b.Shape && same(was.Work, b.Work) {
			kept := *b
			kept.Work = was.Work
			s.works.ReplaceOrInsert(shown{name, &kept})
			return
		}
		// The client got a creation time by the clock of this process. Maestro's clock may differ.
		b.Work.CreationTimestamp = was.Work.CreationTimestamp
		change.Type, change.Was = watch.Modified, was.Work
	}
	s.version++
	b.Work.ResourceVersion = strconv.FormatUint(s.version, 10)
	change.Version = s.version
	s.works.ReplaceOrInsert(shown{name, b})
	s.record(change)
}

// remove forgets a bundle. With the last bundle, the work is gone.
func (s *store) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.names[id]
	if !ok {
		return
	}
	delete(s.names, id)
	if s.forget(name, id) {
		return
	}
	earlier := s.past[name]
	if len(earlier) == 0 {
		s.hide(s.shown(name))
		return
	}
	last := earlier[len(earlier)-1]
	s.forget(name, last.ID)
	s.show(last)
}

// hide removes a work from the shown works. The caller has the lock.
func (s *store) hide(b *bundle.Bundle) {
	s.works.Delete(shown{name: b.Name()})
	s.version++
	last := b.Work.DeepCopy()
	last.ResourceVersion = strconv.FormatUint(s.version, 10)
	s.record(Change{Type: watch.Deleted, Work: last, Was: b.Work, Version: s.version})
}

// record adds a change and wakes the watches. The caller has the lock.
func (s *store) record(c Change) {
	if len(s.changes) >= 2*history {
		kept := slices.Clone(s.changes[history:])
		s.first, s.changes = s.changes[history-1].Version, kept
	}
	s.changes = append(s.changes, c)
	close(s.changed)
	s.changed = make(chan struct{})
}

// after returns the changes after a version, and a channel closed by the next change. after returns false if some of
// the changes are gone, or if the version is from a different process.
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

// fill notes that the mirror has read all works from Maestro.
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

// same returns whether two states of a work look the same to a client.
func same(a, b *workv1.ManifestWork) bool {
	return a.Generation == b.Generation && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && apiequality.Semantic.DeepEqual(a.Status, b.Status)
}
