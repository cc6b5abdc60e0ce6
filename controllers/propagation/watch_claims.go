package propagation

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/work"
)

// watchClaimTime is how long a reconcile with facts from before the creation of a work may last.
const watchClaimTime = 10 * time.Second

// watchClaims are the new works that let the work agent watch a place (see work.WatchPlace), and that some reconciles did
// not find in the cache yet. The Applications of an ApplicationSet arrive at the same time. Without the claims, ten works
// ask for the watch, and nine withdraw. In a delivery of 100 Applications, the withdrawals cost 19 writes, 8 reports of
// the agent, and 12 of 14 conflicts. A place has at most one claim, which counts no longer after watchClaimTime.
type watchClaims struct {
	mu     sync.Mutex
	claims map[string]watchClaim
}

type watchClaim struct {
	work types.NamespacedName
	at   time.Time
}

// take reports whether a new work may ask for the watch of a place. A work that does not ask may always be created. The first
// work of a place takes the claim.
func (m *watchClaims) take(w *workv1.ManifestWork, now time.Time) bool {
	place, key := work.Watches(w), client.ObjectKeyFromObject(w)
	if place == "" {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if claim, ok := m.claims[place]; ok && claim.work != key && now.Sub(claim.at) < watchClaimTime {
		return false
	}
	if m.claims == nil {
		m.claims = map[string]watchClaim{}
	}
	m.claims[place] = watchClaim{work: key, at: now}
	return true
}

// drop ends the claim of a work that was not created.
func (m *watchClaims) drop(w *workv1.ManifestWork) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if place := work.Watches(w); m.claims[place].work == client.ObjectKeyFromObject(w) {
		delete(m.claims, place)
	}
}

// forget ends the claim for a place after the end of the work's watch.
func (m *watchClaims) forget(place string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.claims, place)
}

func (m *watchClaims) remember(from *watchClaims) {
	from.mu.Lock()
	defer from.mu.Unlock()
	m.claims = maps.Clone(from.claims)
}
