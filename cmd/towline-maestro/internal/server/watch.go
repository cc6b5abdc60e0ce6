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

// watcher gives the changes of works to one request.
type watcher struct {
	results chan watch.Event
	stop    context.CancelFunc
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.results }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop() }

// newWatcher begins a watch after the version that the options name. Without one, or with "0", it gives all works first.
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

// follow gives what changes after a version.
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

// event is what a change is for those who see selected works only.
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

// own is a work for one watch, whose encoder sets the kind on it. All below its fields is shared, and only read.
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
