package hub

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// pageSize is how many objects are asked for at once: what was decoded is let go page by page.
	pageSize = 250

	// soon and late are how long to wait after a failure.
	soon, late = time.Second, 15 * time.Second

	// listTimeout is how long a list may take.
	listTimeout = 2 * time.Minute
)

var (
	errSilent = errors.New("the API server does not answer")
	errEnded  = errors.New("the API server ends each watch at once")
)

// again is after how many seconds a watch ends. The next one is checked by the API server anew: who has lost a right is shown nothing after that.
var again = 60

// answerTimeout is how long the API server may take to begin a watch, and to end it when its time is over.
var answerTimeout = 20 * time.Second

// lists is held by who lists: the lists of many people at once would fill the memory.
var lists = make(chan struct{}, 2)

// feed follows the objects of one kind, and keeps of each what keep makes of it.
type feed[T comparable] struct {
	client client.WithWatch
	empty  client.ObjectList
	opts   []client.ListOption
	keep   func(client.Object) (T, bool)

	// changed is called after each change, without the lock.
	changed func()

	mu    sync.RWMutex
	store store[T]
	state state

	// heard is when the API server last gave a sign that what is kept is current.
	heard time.Time

	// version is that of the last event. Only run and what it calls look at it.
	version string
}

// state is how far what a feed keeps is what the hub has.
type state struct {
	// filled is set when a first list has been read, or has failed.
	filled bool

	// err is why nothing, or not all, is kept.
	err error

	// lost is since when what is kept is not followed, and why; zero while it is.
	lost    time.Time
	because error
}

// now is the state.
func (f *feed[T]) now() state {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.state
}

// run follows until ctx ends: a list, and then one watch after the other, each from where the one before has ended. While the API server is
// away, what is known stays.
func (f *feed[T]) run(ctx context.Context) {
	wait, listed := soon, false
	for {
		var err error
		if listed {
			err = f.watch(ctx)
		} else {
			err = f.list(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			wait, listed = soon, true
			continue
		case denied(err):
			wait, listed = late, false
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			listed = false
		}
		f.fail(err)
		pause(ctx, wait)
		wait = min(2*wait, late)
	}
}

// denied tells whether an error says that its identity may not read this, or is none. A kind that is not served is not there to be read.
func denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fail remembers since when what is kept is not followed any more, and lets go of what may not be read.
func (f *feed[T]) fail(err error) {
	f.mu.Lock()
	switch {
	case denied(err):
		f.store, f.heard, f.state = store[T]{of: f.store.of}, time.Time{}, state{filled: true, err: err}
	case f.heard.IsZero(): // nothing has been read yet, or not all
		f.state = state{filled: true, err: err}
	case f.state.lost.IsZero():
		f.state.lost, f.state.because = f.heard, err
	}
	f.mu.Unlock()
	f.changed()
}

// hear takes a sign that what is kept is current.
func (f *feed[T]) hear() {
	f.mu.Lock()
	was := f.state.lost
	f.heard, f.state.lost, f.state.because = time.Now(), time.Time{}, nil
	f.mu.Unlock()
	if !was.IsZero() {
		f.changed()
	}
}

// list reads all objects, page by page. What it finds in the first list is shown at once.
func (f *feed[T]) list(ctx context.Context) error {
	select {
	case lists <- struct{}{}:
		defer func() { <-lists }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	found := store[T]{of: f.store.of}
	for next := ""; ; {
		page, _ := f.empty.DeepCopyObject().(client.ObjectList)
		opts := append([]client.ListOption{client.Limit(pageSize), client.Continue(next)}, f.opts...)
		if err := f.client.List(ctx, page, opts...); err != nil {
			return err
		}
		next = page.GetContinue()
		if err := f.put(&found, page, next == ""); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
	}
}

// put takes over a page of a list: at once where nothing is known yet, and otherwise with the last page.
func (f *feed[T]) put(found *store[T], page client.ObjectList, last bool) error {
	f.mu.Lock()
	defer f.changed()
	defer f.mu.Unlock()
	err := meta.EachListItem(page, func(o runtime.Object) error {
		object, _ := o.(client.Object)
		if v, ok := f.keep(object); ok {
			found.set(v)
		}
		return nil
	})
	if err == nil && (last || !f.state.filled) {
		f.store = *found
	}
	if err == nil && last {
		f.version, f.heard, f.state = page.GetResourceVersion(), time.Now(), state{filled: true}
	}
	return err
}

// watch follows the changes until the API server ends the watch.
func (f *feed[T]) watch(ctx context.Context) error {
	seconds := int64(again + rand.IntN(1+again/4)) //nolint:gosec // so that not all come at once
	page, _ := f.empty.DeepCopyObject().(client.ObjectList)
	raw := &metav1.ListOptions{ResourceVersion: f.version, TimeoutSeconds: &seconds, AllowWatchBookmarks: true}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hung := time.AfterFunc(answerTimeout, func() { cancel(errSilent) })
	defer hung.Stop()
	w, err := f.client.Watch(ctx, page, append([]client.ListOption{&client.ListOptions{Raw: raw}}, f.opts...)...)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	defer w.Stop()
	hung.Reset(time.Duration(seconds)*time.Second + answerTimeout) // the API server is to end it before
	return f.events(ctx, w)
}

// events takes over what a watch tells. One that lasts, or tells of something, shows that what is kept is current: the API server first tells
// of all changes since the watch before, or that it does not have them any more.
func (f *feed[T]) events(ctx context.Context, w watch.Interface) error {
	good, lasts := false, time.After(soon)
	for {
		select {
		case <-lasts:
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-w.ResultChan():
			if !ok && good {
				f.hear()
				return nil
			}
			if !ok {
				return errEnded
			}
			if err := f.take(&e); err != nil {
				return err
			}
		}
		good = true
		f.hear()
	}
}

// take takes over an event.
func (f *feed[T]) take(e *watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	object, ok := e.Object.(client.Object)
	if !ok {
		return errors.New("the API server has sent an event without an object")
	}
	f.version = object.GetResourceVersion()
	if e.Type == watch.Bookmark {
		return nil
	}
	f.mu.Lock()
	var changed bool
	if v, ok := f.keep(object); ok && e.Type != watch.Deleted {
		changed = f.store.set(v)
	} else {
		changed = f.store.remove(client.ObjectKeyFromObject(object))
	}
	f.mu.Unlock()
	if changed {
		f.changed()
	}
	return nil
}
