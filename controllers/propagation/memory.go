package propagation

import "maps"

// Remember copies the memory of one Reconciler to a second Reconciler before the start of the latter. A simulation may
// continue from one state in several ways, with a copy for each way.
func Remember(to, from *Reconciler) {
	to.losses.remember(&from.losses)
	to.revocations.remember(&from.revocations)
	to.uncached.remember(&from.uncached)
	to.watchClaims.remember(&from.watchClaims)
}

func (m *lossDetector) remember(from *lossDetector) {
	from.mu.Lock()
	defer from.mu.Unlock()
	m.deleted, m.undecided, m.lost = maps.Clone(from.deleted), maps.Clone(from.undecided), maps.Clone(from.lost)
	m.missing, m.restored = from.missing, from.restored
}

func (m *revocations) remember(from *revocations) {
	from.mu.Lock()
	defer from.mu.Unlock()
	m.refused = maps.Clone(from.refused)
	for app, works := range m.refused {
		m.refused[app] = maps.Clone(works)
	}
	m.deleted, m.count, m.stopped = maps.Clone(from.deleted), from.count, from.stopped
}
