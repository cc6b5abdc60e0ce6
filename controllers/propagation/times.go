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

// times measures two durations: from a change of an Application to the write of the work, and from the write to the
// application by the work agent. The zero value is ready for use.
type times struct {
	// changed is since when a change of an Application waits for the reconcile.
	changed gauge.Since

	mu   sync.Mutex
	sent map[types.NamespacedName]sent
}

// sent is a written work, not applied yet by the work agent.
type sent struct {
	at         time.Time
	uid        types.UID
	generation int64
}

// watched returns a predicate to note new and changed Applications while this replica leads. All events pass. The
// objects of the initial list do not count as changes.
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

// wrote measures the first write of a work after a change of the Application. The Application's own work is then
// remembered until the work agent has applied it.
func (t *times) wrote(seen *observation, s *delivery.Step, w *workv1.ManifestWork, now time.Time) {
	if !seen.since.IsZero() {
		propagationTime.Observe(now.Sub(seen.since).Seconds())
		seen.since = time.Time{}
	}
	if !sends(seen, s, w) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent == nil {
		t.sent = map[types.NamespacedName]sent{}
	}
	next := sent{at: now, uid: w.UID, generation: w.Generation}
	if before, waits := t.sent[seen.Key]; waits && before.uid == w.UID {
		next.at = before.at // the agent has not applied the change before either
	}
	t.sent[seen.Key] = next
}

// sends reports whether the write changes the content of the Application's own work.
func sends(seen *observation, s *delivery.Step, w *workv1.ManifestWork) bool {
	return seen.App != nil && s.Verb != work.VerbDelete && (s.Verb != work.VerbUpdate || s.Was.Generation != w.Generation) &&
		delivery.Sent(seen.App) && work.Key(seen.App) == client.ObjectKeyFromObject(w)
}

// stands measures a finished delivery, by the state of the Application. applied is true if the work agent has applied the
// own work of an Application to be delivered. stands reports whether the agent has now applied the written work.
func (t *times) stands(seen *observation, is state, applied bool, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, waits := t.sent[seen.Key]
	if !waits {
		return false
	}
	switch is {
	case statePending, stateDelivered, stateStale, stateMoving, statePaused, stateBlocked:
	default: // the delivery has ended
		delete(t.sent, seen.Key)
		return false
	}
	if !applied || seen.Own.UID != was.uid || seen.Own.Generation < was.generation {
		return false
	}
	delete(t.sent, seen.Key)
	deliveryTime.Observe(now.Sub(was.at).Seconds())
	return true
}

// refreshed measures a finished refresh, from the time of the request. The precision is one second.
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
