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

// errSilent ends a subscription of which nothing is heard any more.
var errSilent = errors.New("Maestro has said nothing for " + silence.String())

// firstPause is how long to wait before Maestro is followed again. While it refuses who asks, each pause is twice as long as the one before,
// up to about what a connection waits: each attempt begins to read all works. One that cannot be reached is tried at the connection's pace.
var firstPause = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: math.MaxInt, Cap: maestro.MaxBackoff}

// keepFollowing follows Maestro until the context ends.
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

// follow subscribes and lists, until the subscription ends or Maestro has been silent for too long. It tells whether Maestro was there, and
// has said nothing.
func (m *Mirror) follow(ctx context.Context) (refused bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil) // before the wait
	lists := make(chan struct{}, 1)
	running.Go(func() { m.lists(ctx, lists) })

	silent := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer silent.Stop()
	connected := false
	err := m.maestro.Subscribe(ctx, func(event *cloudevents.Event) {
		silent.Reset(silence)
		if !connected {
			// Maestro's first word, up to ten seconds after the request, is the first sign that it tells us what happens. What
			// happened before may not have been told, and may have come after the list.
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

// lists reads all works, at once and every few minutes, or more rarely where that would take too much of the time. In between, and when it
// is asked, it reads those that have changed since it began to read last. Only statuses can have changed that way, because nobody else
// writes, and a work that is being removed is read again until it is gone. Should Maestro's clock be behind by more than is allowed for, or
// its database have been restored, the next reading of all brings the rest.
func (m *Mirror) lists(ctx context.Context, asked <-chan struct{}) {
	again := time.NewTimer(0)
	defer again.Stop()
	var since, whole time.Time // what has been read, zero until all have been; and when all are due again
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
			if from.IsZero() { // all of them again, and not more often than that takes
				since, next = time.Time{}, min(max(next, time.Since(began)), listEvery)
			}
		}
		again.Reset(next)
	}
}

// list reads all works, or those that have changed since a time. A list takes its time, and so shows some of them as they were: what
// seems to go back, and what seems to be missing, is read alone.
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
	}, func(err error) { m.log.Info("A bundle is left alone", "error", err) })
	if err != nil || !since.IsZero() {
		return err
	}
	for id := range missing {
		m.stale.Add(id)
	}
	for _, id := range m.store.pastIDs() {
		m.stale.Add(id) // they may go, if the later ones are applied
	}
	m.store.fill()
	return nil
}

// older tells whether what was read may be from before what is known.
func older(b, known *bundle.Bundle) bool {
	return b.Work.UID != known.Work.UID || b.Version < known.Version ||
		b.Version == known.Version && bundle.Newer(known.Sequence, b.Sequence) ||
		!known.Work.DeletionTimestamp.IsZero() && b.Work.DeletionTimestamp.IsZero()
}

// heard deals with what Maestro tells. What is not the next status of what the mirror has is a reason to read.
func (m *Mirror) heard(event *cloudevents.Event) {
	said, err := bundle.ReadStatus(event)
	if errors.Is(err, bundle.ErrOther) {
		return
	}
	if err != nil {
		m.log.Info("An event of Maestro is left alone", "error", err)
		return
	}
	name, ok := m.store.nameOf(said.ID)
	if !ok {
		m.stale.Add(said.ID)
		return
	}
	defer m.lock(name)()
	known := m.store.byID(said.ID)
	switch {
	case known == nil || known.Work.UID != said.UID || known.Version != said.Version:
		if said.Deleted {
			m.removals.tell(said.ID)
		}
		m.stale.Add(said.ID)
	case said.Deleted && !m.removals.wanted(known):
		m.removals.tell(said.ID)
		m.stale.Add(said.ID)
	case said.Deleted:
		// Maestro says so just before it removes the bundle.
		m.gone(said.ID)
		m.stale.AddAfter(said.ID, removalEnds)
	case bundle.Newer(said.Sequence, known.Sequence):
		m.take(known.With(said))
		if m.store.get(name).ID != said.ID {
			m.stale.Add(said.ID) // an earlier bundle, which may have to wait for this before it goes
		}
	}
}

// take shows what Maestro has of a bundle, and looks again at those that have to go. It needs the work's lock.
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
