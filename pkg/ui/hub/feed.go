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
	// pageSize is the number of objects in a page of a list. feed drops the decoded objects after each page.
	pageSize = 250

	// soon and late are the shortest and the longest wait after a failure.
	soon, late = time.Second, 15 * time.Second

	// listTimeout is the maximum duration of a list with all pages.
	listTimeout = 2 * time.Minute
)

var (
	errSilent = errors.New("the API server does not answer")
	errEnded  = errors.New("the API server ends each watch at once")
)

// again is the shortest duration of a watch in seconds. A random part of up to a quarter comes on top. The API server
// checks the rights of the user for each new watch. A user without the right sees no objects from then on.
var again = 60

// answerTimeout is the maximum delay of the API server at the begin of a watch, and at the end of the watch's duration.
var answerTimeout = 20 * time.Second

// lists allows two lists at a time, because the lists of many users at once would fill the memory.
var lists = make(chan struct{}, 2)

// feed follows the objects of one kind by list and watch. feed stores the value returned by keep for each object.
type feed[T comparable] struct {
	client client.WithWatch
	empty  client.ObjectList
	opts   []client.ListOption
	keep   func(client.Object) (T, bool)

	// changed is called after each change of the store or the state, without the lock.
	changed func()

	mu    sync.RWMutex
	store store[T]
	state state

	// heard is the time of the last proof from the API server for a current store.
	heard time.Time

	// version is the resourceVersion of the last list or event. Only the goroutine of run uses version.
	version string
}

// state says whether the store of a feed has the hub's objects.
type state struct {
	// filled is true after the success or the failure of the first list.
	filled bool

	// err is the reason for an empty or incomplete store.
	err error

	// lost is the last time with a current store, and because is the error since then. Both are zero while the store is
	// current.
	lost    time.Time
	because error
}

// now returns the current state.
func (f *feed[T]) now() state {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.state
}

// run follows the objects until ctx ends. After a list, run starts watch after watch, each at the last resourceVersion.
// The store keeps the objects while the API server is not available.
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

// denied tells whether the API server refused the read: the user has no right, the token is invalid, or the API server
// does not serve the kind.
func denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fail records an error in the state. If the API server refused the read, fail also empties the store.
func (f *feed[T]) fail(err error) {
	f.mu.Lock()
	switch {
	case denied(err):
		f.store, f.heard, f.state = store[T]{of: f.store.of}, time.Time{}, state{filled: true, err: err}
	case f.heard.IsZero(): // no complete list yet
		f.state = state{filled: true, err: err}
	case f.state.lost.IsZero():
		f.state.lost, f.state.because = f.heard, err
	}
	f.mu.Unlock()
	f.changed()
}

// hear records the current time as a proof for a current store.
func (f *feed[T]) hear() {
	f.mu.Lock()
	was := f.state.lost
	f.heard, f.state.lost, f.state.because = time.Now(), time.Time{}, nil
	f.mu.Unlock()
	if !was.IsZero() {
		f.changed()
	}
}

// list reads all objects, page by page. During the first list, the store shows each page at once.
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

// put adds a page to the found objects. During the first list, the store gets each page at once. Later lists replace the
// store at the last page.
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

// watch stores the changes until the API server ends the watch. A missing answer of the API server is an error.
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
	hung.Reset(time.Duration(seconds)*time.Second + answerTimeout) // a working API server ends the watch earlier
	return f.events(ctx, w)
}

// events stores the events of a watch. A first event, or a second without the end of the watch, proves that the store is
// current. The API server begins a watch with all changes since the former watch, or with an error for forgotten changes.
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

// take stores an event. A bookmark changes only the resourceVersion.
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
