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

// again is after how many seconds a watch ends. The next one is checked by the API server anew: who has lost a right is shown nothing after that.
var again = 60

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

	mu      sync.RWMutex
	store   store[T]
	err     error
	filled  bool
	version string
}

// state is whether what is kept is all, and why nothing is.
func (f *feed[T]) state() (filled bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.filled, f.err
}

// run follows until ctx ends.
func (f *feed[T]) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := soon
		err := f.list(ctx)
		for err == nil {
			err = f.watch(ctx)
			if err == nil || ctx.Err() != nil {
				continue
			}
			if denied(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				break
			}
			// The API server is away: what is known stays, and the next watch goes on from it.
			pause(ctx, wait)
			wait, err = min(2*wait, late), nil
		}
		if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			f.fail(err)
			pause(ctx, late)
		}
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

// fail lets go of what may not be read any more.
func (f *feed[T]) fail(err error) {
	f.mu.Lock()
	f.err, f.filled = err, true
	if denied(err) {
		f.store = store[T]{of: f.store.of}
	}
	f.mu.Unlock()
	f.changed()
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
	if err == nil && (last || !f.filled) {
		f.store = *found
	}
	if err == nil && last {
		f.version, f.filled, f.err = page.GetResourceVersion(), true, nil
	}
	return err
}

// watch follows the changes until the API server ends the watch.
func (f *feed[T]) watch(ctx context.Context) error {
	seconds := int64(again + rand.IntN(1+again/4)) //nolint:gosec // so that not all come at once
	page, _ := f.empty.DeepCopyObject().(client.ObjectList)
	raw := &metav1.ListOptions{ResourceVersion: f.version, TimeoutSeconds: &seconds, AllowWatchBookmarks: true}
	w, err := f.client.Watch(ctx, page, append([]client.ListOption{&client.ListOptions{Raw: raw}}, f.opts...)...)
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.ResultChan():
			if !ok {
				return nil
			}
			if err := f.take(&e); err != nil {
				return err
			}
		}
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
