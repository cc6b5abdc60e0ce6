package informer

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// Sieve is a ListerWatcher that transforms and filters objects between the API server and a cache. client-go (0.37.2)
// transforms the objects of a watch on arrival, but the objects of a list only after the whole list is read. At each
// start, all objects full of cluster reports would be in memory together. Lists are used with API servers before
// Kubernetes 1.34 (1.32 excepted) and with towline-maestro.
type Sieve struct {
	from cache.ListerWatcherWithContext

	// Transform returns the reduced object, or nil to leave the object out. A nil Transform changes no object.
	Transform cache.TransformFunc

	// Begin is called before each new read of all objects. Begin may be nil.
	Begin func()

	// Gone is called with each deleted object of a watch. Gone may be nil.
	Gone func(runtime.Object)

	// Watches makes the Sieve transform the objects of watches too. The transform of a cache already covers watches.
	Watches bool
}

var (
	_ cache.ListerWatcher            = &Sieve{}
	_ cache.ListerWatcherWithContext = &Sieve{}
)

// NewSieve returns a Sieve for a ListerWatcher.
func NewSieve(from cache.ListerWatcher) *Sieve {
	return &Sieve{from: cache.ToListerWatcherWithContext(from)}
}

// List implements cache.ListerWatcher.
func (s *Sieve) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher.
func (s *Sieve) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// ListWithContext reads the list page by page. The version "0" would let an API server answer from memory, but in a
// single page.
func (s *Sieve) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.begin()
	limit := int64(firstPage)
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (page runtime.Object, err error) {
		page, limit, err = s.page(ctx, options, limit)
		if err != nil {
			return nil, err
		}
		return s.sifted(page)
	})
	pages.FullListIfExpired = false
	options.Limit, options.ResourceVersion, options.ResourceVersionMatch = firstPage, "", ""
	list, _, err := pages.ListWithAlloc(ctx, options)
	return list, err
}

// page reads a page with at most limit objects, and returns the limit for the next page.
func (s *Sieve) page(ctx context.Context, options metav1.ListOptions, limit int64) (runtime.Object, int64, error) {
	for {
		ctx, a := expecting(ctx, limit)
		options.Limit = limit
		page, err := s.from.ListWithContext(ctx, options)
		switch {
		case a.tooLarge():
			limit = max(limit/4, minPage)
		case err != nil:
			return nil, limit, err
		default:
			return page, nextPage(limit, int64(meta.LenList(page)), a.bytes), nil
		}
	}
}

// sifted returns a page with the transformed objects of a page.
func (s *Sieve) sifted(page runtime.Object) (runtime.Object, error) {
	about, err := meta.ListAccessor(page)
	if err != nil {
		return nil, err
	}
	out := &metainternalversion.List{ListMeta: metav1.ListMeta{
		ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue(), RemainingItemCount: about.GetRemainingItemCount(),
	}}
	err = meta.EachListItemWithAlloc(page, func(obj runtime.Object) error {
		obj, err := s.transformed(obj)
		if obj != nil {
			out.Items = append(out.Items, obj)
		}
		return err
	})
	return out, err
}

func (s *Sieve) transformed(obj runtime.Object) (runtime.Object, error) {
	if s.Transform == nil {
		return obj, nil
	}
	out, err := s.Transform(obj)
	if out == nil || err != nil {
		return nil, err
	}
	return out.(runtime.Object), nil
}

// WatchWithContext watches. For an object to be left out from now on, the watch sends a deletion.
func (s *Sieve) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.begin()
	}
	w, err := s.from.WatchWithContext(ctx, options)
	if err != nil || !s.Watches {
		return w, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		switch e.Type {
		case watch.Added, watch.Modified:
			out, err := s.transformed(e.Object)
			if err != nil {
				return e, true // the cache meets the same error
			}
			if out == nil {
				e.Type = watch.Deleted
			} else {
				e.Object = out
			}
		case watch.Deleted:
			if s.Gone != nil {
				s.Gone(e.Object)
			}
		}
		return e, true
	}), nil
}

func (s *Sieve) begin() {
	if s.Begin != nil {
		s.Begin()
	}
}
