package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// seen has the versions of all printed events.
type seen map[types.UID]string

// newSeen returns the versions of the events in a list.
func newSeen(list []saidEvent) seen {
	out := seen{}
	for i := range list {
		out[list[i].id] = list[i].version
	}
	return out
}

// fresh reports whether an event is new, and marks it as printed.
func (s seen) fresh(e *saidEvent) bool {
	version, known := s[e.id]
	s[e.id] = e.version
	return !known || version != e.version
}

// follow prints new events until the user interrupts. If the hub has forgotten the resource version, for example
// after a long break, follow lists the events again, and prints the new events.
func (e *eventsOptions) follow(ctx context.Context, h *hub, namespace, version string, before seen, keep func(*saidEvent) bool) error {
	for {
		err := e.watched(ctx, h, namespace, version, func(s *saidEvent) error { return e.append(s, before, keep) })
		if ctx.Err() != nil || !expired(err) {
			return err
		}
		var list []saidEvent
		if list, version, err = h.events(ctx, namespace, keep); err != nil {
			return err
		}
		for i := range list {
			if err := e.append(&list[i], before, keep); err != nil {
				return err
			}
		}
		before = newSeen(list) // forget events that the hub has deleted
	}
}

// expired reports whether the hub has forgotten the resource version of a watch.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// append prints a new event. It skips printed events.
func (e *eventsOptions) append(s *saidEvent, before seen, keep func(*saidEvent) bool) error {
	if !keep(s) || !before.fresh(s) {
		return nil
	}
	p := &printer{to: e.Out}
	e.eventTable([]saidEvent{*s}, false).write(p, 0)
	return p.err
}

// watched calls take for each event after a version, until the watch ends.
func (e *eventsOptions) watched(ctx context.Context, h *hub, namespace, version string, take func(*saidEvent) error) error {
	events, err := watchtools.NewRetryWatcherWithContext(ctx, version, &eventWatcher{h: h, namespace: namespace})
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case got, open := <-events.ResultChan():
			if !open {
				return nil
			}
			if err := came(got, take); err != nil {
				return err
			}
		}
	}
}

// came calls take with an event of a watch.
func came(got watch.Event, take func(*saidEvent) error) error {
	event, ok := got.Object.(*corev1.Event)
	switch {
	case got.Type == watch.Error:
		return fmt.Errorf("the events cannot be watched any more: %w", apierrors.FromObject(got.Object))
	case !ok, got.Type != watch.Added && got.Type != watch.Modified:
		return nil
	}
	s := saidOf(event)
	return take(&s)
}

// eventWatcher watches the events of Towline.
type eventWatcher struct {
	h         *hub
	namespace string
}

// WatchWithContext implements watchtools' cache.WatcherWithContext.
func (w *eventWatcher) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	watcher, ok := w.h.Client.(client.WithWatch)
	if !ok {
		return nil, errors.New("this client cannot watch")
	}
	events, err := watcher.Watch(ctx, &corev1.EventList{}, client.InNamespace(w.namespace), reporter, &client.ListOptions{Raw: &o})
	var status *apierrors.StatusError
	if expired(err) && errors.As(err, &status) { // an error event ends the retry watcher, whose retries would never succeed
		told := make(chan watch.Event, 1)
		told <- watch.Event{Type: watch.Error, Object: &status.ErrStatus}
		return watch.NewProxyWatcher(told), nil
	}
	return events, err
}
