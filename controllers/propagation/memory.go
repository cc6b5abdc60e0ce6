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
	m.ended, m.found, m.held = maps.Clone(from.ended), maps.Clone(from.found), maps.Clone(from.held)
	m.gap, m.restored = from.gap, from.restored
}

func (m *revocations) remember(from *revocations) {
	from.mu.Lock()
	defer from.mu.Unlock()
	m.refused = maps.Clone(from.refused)
	for app, works := range m.refused {
		m.refused[app] = maps.Clone(works)
	}
	m.asked, m.count, m.braked = maps.Clone(from.asked), from.count, from.braked
}
