package main

import (
	"context"
	"io"
	"sync"
	"time"
)

// waiting waits until the hub shows the effect of what was written, or the time is over.
type waiting func(end time.Time) outcome

// sideBySide makes steps one after the other, each of which may ask a person, and then waits for all of their effects at the same
// time, which begins after the last step: nobody's answer takes of it. It prints each outcome as soon as it is known. A command that was
// interrupted makes no further step.
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

// awaitAll waits for the effects of some of a list, and puts what became of them in their places.
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

// together lets many write lines to one writer at the same time.
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
