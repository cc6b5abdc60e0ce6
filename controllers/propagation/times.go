package propagation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/gauge"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// times measure how long changes of Applications take to become works, and works to be applied. The zero value measures nothing yet.
type times struct {
	// changed is since when a change of an Application waits to be looked at.
	changed gauge.Since

	mu   sync.Mutex
	sent map[types.NamespacedName]sent
}

// sent is a work that was written and that no agent has applied yet.
type sent struct {
	at         time.Time
	uid        types.UID
	generation int64
}

// watched notes when Applications come and change while this replica works on them. It lets everything through. What a start finds
// is no change.
func (t *times) watched(waits func() bool) predicate.Predicate {
	note := func(o client.Object) bool {
		if !waits() {
			t.changed.Note(client.ObjectKeyFromObject(o), time.Now())
		}
		return true
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return e.IsInInitialList || note(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return note(e.ObjectNew) },
	}
}

// wrote measures a write of a work of the Application: the first one since it has changed. The work that brings it to its cluster is
// remembered until the agent there has applied it.
func (t *times) wrote(seen *observation, s *delivery.Step, w *workv1.ManifestWork, now time.Time) {
	if !seen.since.IsZero() {
		propagationTime.Observe(now.Sub(seen.since).Seconds())
		seen.since = time.Time{}
	}
	if seen.App == nil || s.Verb == work.VerbDelete || s.Verb == work.VerbUpdate && s.Was.Generation == w.Generation ||
		!delivery.Sent(seen.App) || work.Key(seen.App) != client.ObjectKeyFromObject(w) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent == nil {
		t.sent = map[types.NamespacedName]sent{}
	}
	next := sent{at: now, uid: w.UID, generation: w.Generation}
	if before, waits := t.sent[seen.Key]; waits && before.uid == w.UID {
		next.at = before.at // the change before this one is not there yet either
	}
	t.sent[seen.Key] = next
}

// stands measures a delivery that has come to its end, by how the Application stands.
func (t *times) stands(seen *observation, is delivery.Standing, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, waits := t.sent[seen.Key]
	if !waits {
		return
	}
	switch is.State {
	case delivery.Pending, delivery.Delivered, delivery.Stale, delivery.Moving, delivery.PausedState, delivery.Blocked:
	default: // it is not delivered any more
		delete(t.sent, seen.Key)
		return
	}
	if !is.Applied || seen.Own.UID != was.uid || seen.Own.Generation < was.generation {
		return
	}
	delete(t.sent, seen.Key)
	deliveryTime.Observe(now.Sub(was.at).Seconds())
}

// refreshed measures a refresh that is over, from when it was sent, which is known to the second.
func refreshed(seen *observation, outcome string, now time.Time) {
	if outcome == "" {
		return
	}
	var sent relay.Refresh
	if seen.Own != nil {
		sent = work.Sent(seen.Own).Refresh
	}
	took := 0.0
	if !sent.Since.IsZero() {
		took = max(0, now.Sub(sent.Since).Seconds())
	}
	gauge.Operations.WithLabelValues("refresh", outcome).Observe(took)
}
