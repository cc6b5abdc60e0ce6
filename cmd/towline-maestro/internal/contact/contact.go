package contact

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// The kinds of requests, as metrics and errors name them.
const (
	read      = "read"
	write     = "write"
	subscribe = "subscribe"
)

// Contact wraps a Maestro, and records the results of the last requests.
type Contact struct {
	mirror.Maestro

	mu      sync.Mutex
	heard   bool  // true after Maestro has answered a subscription
	refused error // error of the last subscription, while heard is false
	last    error
}

// With returns a Contact for m.
func With(m mirror.Maestro) *Contact { return &Contact{Maestro: m} }

// LastError returns the error of the last failed request, or nil if no request has failed.
func (c *Contact) LastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Refused returns the error of the last subscription if Maestro has never answered a subscription. Refused returns nil
// after the first answer, and before the first subscription has failed.
func (c *Contact) Refused() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// Publish implements mirror.Maestro.
func (c *Contact) Publish(ctx context.Context, event *cloudevents.Event) error {
	err := c.Maestro.Publish(ctx, event)
	failed := err
	if maestro.IsAnswer(err) {
		failed = nil
	}
	c.done(ctx, write, failed)
	return err
}

// Get implements mirror.Maestro.
func (c *Contact) Get(ctx context.Context, id string) (*bundle.Bundle, error) {
	b, err := c.Maestro.Get(ctx, id)
	failed := err
	if errors.Is(err, maestro.ErrNotFound) {
		failed = nil
	}
	c.done(ctx, read, failed)
	return b, err
}

// List implements mirror.Maestro.
func (c *Contact) List(ctx context.Context, since time.Time, each func(*bundle.Bundle), skipped func(error)) error {
	err := c.Maestro.List(ctx, since, each, skipped)
	if err == nil {
		lastRead.SetToCurrentTime()
	}
	c.done(ctx, read, err)
	return err
}

// Subscribe implements mirror.Maestro. The first event from Maestro counts as the answer.
func (c *Contact) Subscribe(ctx context.Context, handle func(*cloudevents.Event)) error {
	told := false
	err := c.Maestro.Subscribe(ctx, func(event *cloudevents.Event) {
		if !told {
			told = true
			c.done(ctx, subscribe, nil)
		}
		handle(event)
	})
	c.done(ctx, subscribe, err)
	return err
}

// AddCluster implements mirror.Maestro. The call is a part of the first write for a cluster and counts as a write.
func (c *Contact) AddCluster(ctx context.Context, name string) error {
	err := c.Maestro.AddCluster(ctx, name)
	c.done(ctx, write, err)
	return err
}

// done records the result of a request. A request cancelled by the caller or past its deadline says nothing about
// Maestro, so done ignores the request. If this process cancelled the request with a cause, the cause is the error.
func (c *Contact) done(ctx context.Context, request string, err error) {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, ctx.Err()) {
			return
		}
		err = cause
	}
	if err == nil {
		answered.WithLabelValues(request).Set(1)
	} else {
		answered.WithLabelValues(request).Set(0)
		failures.WithLabelValues(request).Inc()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.last = fmt.Errorf("%s, %s: %w", request, time.Now().UTC().Format(time.TimeOnly), err)
	}
	if request == subscribe {
		c.heard = c.heard || err == nil
		if c.refused = err; c.heard {
			c.refused = nil
		}
	}
}
