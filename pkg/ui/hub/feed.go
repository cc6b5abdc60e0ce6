package hub

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
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

var errSilent = errors.New("the API server does not answer")

// again is the shortest duration of a watch in seconds. A random part of up to a quarter comes on top. The API server
// checks the rights of the user for each new watch. A user without the right sees no objects from then on.
var again = 60

// answerTimeout is the maximum delay of the API server at the begin of a watch, and at the end of the watch's duration.
var answerTimeout = 20 * time.Second

// lists allows two lists at a time, because the lists of many users at once would fill the memory.
var lists = make(chan struct{}, 2)

// feed follows the objects of one kind with client-go's Reflector. feed is the store of the Reflector, and keeps the
// value returned by keep for each object.
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
}

// state says whether the store of a feed has the hub's objects.
type state struct {
	// filled is true after the success or the failure of the first list.
	filled bool

	// err is the reason for an empty or incomplete store.
	err error

	// lost is the last time with a current store, and cause is the error since then. Both are zero while the store is
	// current.
	lost  time.Time
	cause error
}

// now returns the current state.
func (f *feed[T]) now() state {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.state
}

// run follows the objects until ctx ends. The store keeps the objects while the API server is not available.
func (f *feed[T]) run(ctx context.Context) {
	source := &paged{cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}}
	reflector := cache.NewReflectorWithOptions(source, nil, f, cache.ReflectorOptions{})
	retries := wait.Backoff{Duration: soon, Factor: 2, Steps: 5, Cap: late}.DelayWithReset(clock.RealClock{}, 2*late)
	_ = retries.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		_ = reflector.ListAndWatchWithContext(ctx) // list and watch record each error
		return false, nil
	})
}

// paged is a ListWatch for a Reflector that lists page by page. A streamed list would show no object before the last.
type paged struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported prevents streamed lists.
func (*paged) IsWatchListSemanticsUnSupported() bool { return true }

// denied tells whether the API server refused the read: the user has no right, the token is invalid, or the API server
// does not serve the kind.
func denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
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
		f.state.lost, f.state.cause = f.heard, err
	}
	f.mu.Unlock()
	f.changed()
}

// hear records the current time as a proof for a current store.
func (f *feed[T]) hear() {
	f.mu.Lock()
	was := f.state.lost
	f.heard, f.state.lost, f.state.cause = time.Now(), time.Time{}, nil
	f.mu.Unlock()
	if !was.IsZero() {
		f.changed()
	}
}

// list stores all objects, page by page. The result has only the resourceVersion, so that the Reflector holds no object.
func (f *feed[T]) list(ctx context.Context, _ metav1.ListOptions) (out runtime.Object, err error) {
	defer func() {
		if err != nil {
			f.fail(err)
		}
	}()
	select {
	case lists <- struct{}{}:
		defer func() { <-lists }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	found := store[T]{of: f.store.of}
	for next := ""; ; {
		page, _ := f.empty.DeepCopyObject().(client.ObjectList)
		opts := append([]client.ListOption{client.Limit(pageSize), client.Continue(next)}, f.opts...)
		if err := f.client.List(ctx, page, opts...); err != nil {
			return nil, err
		}
		next = page.GetContinue()
		if err := f.put(&found, page, next == ""); err != nil {
			return nil, err
		}
		if next == "" {
			return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: page.GetResourceVersion()}}, nil
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
		f.heard, f.state = time.Now(), state{filled: true}
	}
	return err
}

// watch begins a watch, and ends the watch if the API server neither answers nor ends the watch in time.
func (f *feed[T]) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	seconds := int64(again + rand.IntN(1+again/4)) //nolint:gosec // so that not all come at once
	options.TimeoutSeconds = &seconds
	page, _ := f.empty.DeepCopyObject().(client.ObjectList)
	ctx, cancel := context.WithCancelCause(ctx)
	hung := time.AfterFunc(answerTimeout, func() { cancel(errSilent) })
	w, err := f.client.Watch(ctx, page, append([]client.ListOption{&client.ListOptions{Raw: &options}}, f.opts...)...)
	if err != nil {
		err = cmp.Or(context.Cause(ctx), err)
		f.fail(err)
		return nil, errors.New(err.Error()) // The Reflector would retry a refused connection after up to a minute, without a list.
	}
	hung.Reset(time.Duration(seconds)*time.Second + answerTimeout) // a working API server ends the watch earlier
	f.hear()
	return w, nil
}

// UpdateResourceVersion implements cache.ResourceVersionUpdater. Each event of a watch proves a current store.
func (f *feed[T]) UpdateResourceVersion(string) { f.hear() }

// Add implements cache.ReflectorStore.
func (f *feed[T]) Add(o any) error {
	object, _ := o.(client.Object)
	v, ok := f.keep(object)
	if !ok {
		return f.Delete(o)
	}
	f.change(func() bool { return f.store.set(v) })
	return nil
}

// Update implements cache.ReflectorStore.
func (f *feed[T]) Update(o any) error { return f.Add(o) }

// Delete implements cache.ReflectorStore.
func (f *feed[T]) Delete(o any) error {
	object, _ := o.(client.Object)
	f.change(func() bool { return f.store.remove(client.ObjectKeyFromObject(object)) })
	return nil
}

// change calls do with the lock, and then changed if do has changed the store.
func (f *feed[T]) change(do func() bool) {
	f.mu.Lock()
	different := do()
	f.mu.Unlock()
	if different {
		f.changed()
	}
}

// Replace implements cache.ReflectorStore. list has already stored the objects.
func (f *feed[T]) Replace([]any, string) error { return nil }

// Resync implements cache.ReflectorStore.
func (f *feed[T]) Resync() error { return nil }
