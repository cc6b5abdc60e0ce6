package main

import (
	"context"
	"io"
	"sync"
	"time"
)

// waiting waits until the hub shows the effect of a write, or until the end time.
type waiting func(end time.Time) outcome

// sideBySide makes the steps in order, and then waits for all effects at the same time. A step may ask the user. The
// waiting time begins after the last step, so the time for answers does not count. sideBySide prints each outcome at
// once. After an interrupt, no further step is made.
func (o *verbOptions) sideBySide(ctx context.Context, steps []func() (outcome, waiting)) error {
	list, waits := make([]outcome, len(steps)), map[int]waiting{}
	for i, step := range steps {
		var wait waiting
		if list[i], wait = step(); wait != nil {
			waits[i] = wait
		} else if err := o.printOutcome(list[i]); err != nil {
			return err
		}
		if ctx.Err() != nil {
			list = list[:i+1]
			break
		}
	}
	if err := o.awaitAll(list, waits, time.Now().Add(o.timeout)); err != nil {
		return err
	}
	return o.finish(list)
}

// awaitAll runs the waits in parallel, and puts their outcomes into the list.
func (o *verbOptions) awaitAll(list []outcome, waits map[int]waiting, end time.Time) error {
	type over struct {
		i int
		r outcome
	}
	done := make(chan over)
	for i, wait := range waits {
		go func() { done <- over{i, wait(end)} }()
	}
	var err error
	for range waits {
		w := <-done
		list[w.i] = w.r
		if err == nil {
			err = o.printOutcome(w.r)
		}
	}
	return err
}

// together is a writer for concurrent use.
type together struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (w *together) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
