package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// tracker measures the delay until changes are shown. A change has an Application and a number. If a later change of
// the same Application is shown first, the earlier change counts as shown with it.
type tracker struct {
	mu      sync.Mutex
	pending map[int][]change
	newest  map[int]int
	delays  []time.Duration
	quiet   chan struct{}

	// waited has a channel for each awaited Application. The channel is closed when the Application has no pending
	// change.
	waited map[int]chan struct{}
}

type change struct {
	number int
	at     time.Time
}

func newTracker() *tracker {
	return &tracker{pending: map[int][]change{}, newest: map[int]int{}, quiet: make(chan struct{}), waited: map[int]chan struct{}{}}
}

// sent records a change before the write.
func (t *tracker) sent(app, number int, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) == 0 {
		t.quiet = make(chan struct{})
	}
	t.pending[app] = append(t.pending[app], change{number, at})
}

// saw records that an Application shows the change with the given number.
func (t *tracker) saw(app, number int, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number <= t.newest[app] {
		return
	}
	t.newest[app] = number
	changes, ok := t.pending[app]
	if !ok {
		return
	}
	left := slices.DeleteFunc(changes, func(c change) bool {
		if c.number > number {
			return false
		}
		t.delays = append(t.delays, at.Sub(c.at))
		return true
	})
	if t.pending[app] = left; len(left) == 0 {
		delete(t.pending, app)
		if seen := t.waited[app]; seen != nil {
			close(seen)
			delete(t.waited, app)
		}
	}
	if len(t.pending) == 0 {
		close(t.quiet)
	}
}

// wait returns when every change has been shown.
func (t *tracker) wait(ctx context.Context) error {
	t.mu.Lock()
	quiet, left := t.quiet, len(t.pending)
	t.mu.Unlock()
	if left == 0 {
		return nil
	}
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("changes of %d Applications were not seen: %w", len(t.pending), context.Cause(ctx))
	}
}

// waitFor returns when all changes of an Application have been shown.
func (t *tracker) waitFor(ctx context.Context, app int) error {
	t.mu.Lock()
	seen := t.waited[app]
	if len(t.pending[app]) > 0 && seen == nil {
		seen = make(chan struct{})
		t.waited[app] = seen
	}
	t.mu.Unlock()
	if seen == nil {
		return nil
	}
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the changes of Application %d were not seen: %w", app, context.Cause(ctx))
	}
}

// shown returns the number of Applications that have shown a change.
func (t *tracker) shown() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.newest)
}

// take returns the delays since the last call, sorted.
func (t *tracker) take() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	delays := t.delays
	t.delays = nil
	slices.Sort(delays)
	return delays
}

// tally counts distinct numbers until the set is complete.
type tally struct {
	mu          sync.Mutex
	left        map[int]struct{}
	first, last time.Time
	done        chan struct{}
}

func newTally(from, to int, number func(int) int) *tally {
	t := &tally{left: make(map[int]struct{}, to-from), done: make(chan struct{})}
	for i := from; i < to; i++ {
		t.left[number(i)] = struct{}{}
	}
	return t
}

// add records a number.
func (t *tally) add(i int, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.left[i]; !ok {
		return
	}
	if delete(t.left, i); t.first.IsZero() {
		t.first = at
	}
	if t.last = at; len(t.left) == 0 {
		close(t.done)
	}
}

// wait returns when the set is complete.
func (t *tally) wait(ctx context.Context) error {
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("%d did not come: %w", len(t.left), context.Cause(ctx))
	}
}
