package mirror

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

// errSilent ends a subscription without any message from Maestro for the time of silence.
var errSilent = errors.New("Maestro has said nothing for " + silence.String())

// firstPause is the wait before the next subscription at Maestro. While Maestro refuses the caller, each pause is twice
// as long as the pause before, because each attempt begins to read all works. The longest pause is about
// maestro.MaxBackoff, the longest pause of the gRPC connection. The gRPC connection sets the pace for an unreachable
// Maestro.
var firstPause = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: math.MaxInt, Cap: maestro.MaxBackoff}

// keepFollowing subscribes at Maestro again and again, until the context ends.
func (m *Mirror) keepFollowing(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; {
		if !m.follow(ctx) {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause.Step()):
		}
	}
}

// follow subscribes and lists, until the subscription ends or Maestro has been silent for too long. follow returns true
// if Maestro was reachable, but has sent no message.
func (m *Mirror) follow(ctx context.Context) (refused bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil) // The cancellation runs before running.Wait.
	lists := make(chan struct{}, 1)
	running.Go(func() { m.lists(ctx, lists) })

	silent := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer silent.Stop()
	connected := false
	err := m.maestro.Subscribe(ctx, func(event *cloudevents.Event) {
		silent.Reset(silence)
		if !connected {
			// Maestro's first message is the first sign of an active subscription, and arrives up to ten seconds after
			// the request. Maestro may have sent no message about earlier changes, and the first list may be older than
			// the changes.
			connected = true
			lists <- struct{}{}
		}
		m.heard(event)
	})
	if errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	m.log.Info("The subscription at Maestro has ended", "error", err)
	return !connected && !maestro.Unreachable(err)
}

// lists reads all works at once and every few minutes, or more rarely if a full read would take too much of the time.
// Between two full reads, and on each signal from asked, lists reads the works changed since the start of the last
// read.
//
// A read of the changed works can find new statuses only, because no second process writes. A work in deletion is read
// again until the work is gone. If Maestro's clock is behind by more than clocks, or if the database has been restored,
// the next full read finds the missed changes.
func (m *Mirror) lists(ctx context.Context, asked <-chan struct{}) {
	again := time.NewTimer(0)
	defer again.Stop()
	var since, whole time.Time // since is zero until the first full read; whole is when the next full read is due
	for {
		from := since
		select {
		case <-ctx.Done():
			return
		case <-asked:
		case <-again.C:
			if !time.Now().Before(whole) {
				from = time.Time{}
			}
		}
		next, began := listEvery, time.Now()
		switch err := m.list(ctx, from); {
		case err == nil:
			since = began.Add(-clocks)
			if took := time.Since(began); from.IsZero() {
				whole = time.Now().Add(max(listEvery, time.Duration(float64(took)/wholeShare)))
			}
		case ctx.Err() == nil:
			m.log.Error(err, "The works could not be listed")
			next = time.Second
			if from.IsZero() { // after a failed full read, the pause is as long as the read
				since, next = time.Time{}, min(max(next, time.Since(began)), listEvery)
			}
		}
		again.Reset(next)
	}
}

// list reads all works, or the works changed since a time. A list takes a while, and shows some works in an earlier
// state. list queues a read of a single work if the listed work seems older than the known work, or is missing from the
// list.
func (m *Mirror) list(ctx context.Context, since time.Time) error {
	missing := map[string]bool{}
	if since.IsZero() {
		for _, id := range m.store.ids() {
			missing[id] = true
		}
	}
	first := !m.store.isFilled()
	err := m.maestro.List(ctx, since, func(b *bundle.Bundle) {
		id := b.ID
		delete(missing, id)
		defer m.lock(b.Name())()
		known := m.store.byID(id)
		if known == nil && first || known != nil && !older(b, known) {
			m.take(b)
			if lost(b, known) == nil {
				return
			}
		}
		m.stale.Add(id)
	}, func(err error) { m.log.Info("Skipped a bundle", "error", err) })
	if err != nil || !since.IsZero() {
		return err
	}
	for id := range missing {
		m.stale.Add(id)
	}
	for _, id := range m.store.pastIDs() {
		m.stale.Add(id) // perhaps the agent has applied the later bundle now
	}
	m.store.fill()
	return nil
}

// older returns whether b, as read, may be from before known.
func older(b, known *bundle.Bundle) bool {
	return b.Work.UID != known.Work.UID || b.Version < known.Version ||
		b.Version == known.Version && bundle.Newer(known.Sequence, b.Sequence) ||
		!known.Work.DeletionTimestamp.IsZero() && b.Work.DeletionTimestamp.IsZero()
}

// heard handles a message from Maestro. If the message is not the next status of the known bundle, heard queues a read.
func (m *Mirror) heard(event *cloudevents.Event) {
	status, err := bundle.ReadStatus(event)
	if errors.Is(err, bundle.ErrOther) {
		return
	}
	if err != nil {
		m.log.Info("Skipped an event of Maestro", "error", err)
		return
	}
	name, ok := m.store.nameOf(status.ID)
	if !ok {
		m.stale.Add(status.ID)
		return
	}
	defer m.lock(name)()
	known := m.store.byID(status.ID)
	switch {
	case known == nil || known.Work.UID != status.UID || known.Version != status.Version:
		if status.Deleted {
			m.removals.announce(status.ID)
		}
		m.stale.Add(status.ID)
	case status.Deleted && !m.removals.wanted(known):
		m.removals.announce(status.ID)
		m.stale.Add(status.ID)
	case status.Deleted:
		// Maestro sends the message just before the removal of the bundle.
		m.gone(status.ID)
		m.stale.AddAfter(status.ID, removalEnds)
	case bundle.Newer(status.Sequence, known.Sequence):
		m.take(known.WithStatus(status))
		if m.store.get(name).ID != status.ID {
			m.stale.Add(status.ID) // a status of an earlier bundle may permit the removal of the earlier bundle
		}
	}
}

// take stores the state of a bundle from Maestro. take also queues reads of the bundles to be removed: a bundle in
// deletion, and the earlier bundles of the work. The caller has the lock of the work.
func (m *Mirror) take(b *bundle.Bundle) {
	id := b.ID
	m.store.set(b)
	m.expect(id, b)
	if !b.Work.DeletionTimestamp.IsZero() {
		m.stale.AddAfter(id, removalAgain)
	}
	shown := m.store.get(b.Name())
	if shown != m.store.byID(id) {
		return
	}
	if m.mustMove(shown) {
		m.moves.Add(b.Name())
	}
	for _, earlier := range m.store.pastOf(b.Name()) {
		m.stale.Add(earlier.ID)
	}
}
