package server

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/mirror"
)

// watcher sends the changes of works to a single watch request.
type watcher struct {
	results chan watch.Event
	stop    context.CancelFunc
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.results }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop() }

// newWatcher begins a watch after the resourceVersion in the options. Without a resourceVersion, or with "0", the watch
// sends all works first. An unknown resourceVersion is an expired version.
func newWatcher(ctx context.Context, m *mirror.Mirror, selects selection, options *internalversion.ListOptions) (watch.Interface, error) {
	var version uint64
	first := func(func(*workv1.ManifestWork) bool) {}
	if options.ResourceVersion == "" || options.ResourceVersion == "0" {
		first, version = m.All(selects.namespace, types.NamespacedName{})
	} else {
		var err error
		if version, err = strconv.ParseUint(options.ResourceVersion, 10, 64); err != nil {
			return nil, apierrors.NewBadRequest("resourceVersion: " + err.Error())
		}
		if _, _, known := m.After(version); !known {
			return nil, apierrors.NewResourceExpired("too old resource version: " + options.ResourceVersion)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{results: make(chan watch.Event, 100), stop: cancel}
	go func() {
		defer close(w.results)
		defer cancel()
		for work := range first {
			if selects.has(work) && !w.send(ctx, watch.Event{Type: watch.Added, Object: own(work)}) {
				return
			}
		}
		w.follow(ctx, m, selects, version)
	}()
	return w, nil
}

// follow sends the changes after a version. If the mirror does not have the changes any more, follow sends an error and
// ends.
func (w *watcher) follow(ctx context.Context, m *mirror.Mirror, selects selection, version uint64) {
	for {
		changes, next, known := m.After(version)
		if !known {
			expired := apierrors.NewResourceExpired("the watch has fallen behind").Status()
			w.send(ctx, watch.Event{Type: watch.Error, Object: &expired})
			return
		}
		for _, c := range changes {
			version = c.Version
			if event, ok := selects.event(c); ok && !w.send(ctx, event) {
				return
			}
		}
		if len(changes) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
	}
}

// event converts a change to the event for a watch of selected works. A work leaving the selection is a deletion, and a
// work entering the selection is an addition. event returns false for a change outside the selection.
func (s selection) event(c mirror.Change) (watch.Event, bool) {
	is, was := c.Type != watch.Deleted && s.has(c.Work), s.has(c.Was)
	switch {
	case is && was:
		return watch.Event{Type: watch.Modified, Object: own(c.Work)}, true
	case is:
		return watch.Event{Type: watch.Added, Object: own(c.Work)}, true
	case was:
		last := own(c.Was)
		last.ResourceVersion = c.Work.ResourceVersion
		return watch.Event{Type: watch.Deleted, Object: last}, true
	}
	return watch.Event{}, false
}

// own returns a shallow copy of a work for a single watch, because the encoder of the watch sets the kind. All watches
// share the values below the fields, and only read the values.
func own(w *workv1.ManifestWork) *workv1.ManifestWork {
	out := *w
	return &out
}

func (w *watcher) send(ctx context.Context, event watch.Event) bool {
	select {
	case <-ctx.Done():
		return false
	case w.results <- event:
		return true
	}
}
