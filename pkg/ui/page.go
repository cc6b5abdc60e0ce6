package ui

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// pages are those that are being looked at. Readers of the same identity who look at the same page share it: it is painted once for all of them.
type pages struct {
	mu     sync.Mutex
	shared map[pageKey]*page
}

// pageKey is what readers of one page have in common.
type pageKey struct {
	hub     Hub
	address string
}

// page is a page that somebody looks at.
type page struct {
	key   pageKey
	build builder

	// readers is how many look at it; pages.mu is held by whoever changes that.
	readers int

	// begun is how often somebody has begun to paint.
	begun atomic.Uint64

	// mu is held by whoever paints. now is the page as it was painted last, memory what was made of each place then, and tried how that ended.
	mu     sync.Mutex
	now    *painted
	memory any
	tried  attempt
}

// attempt is how the page was painted for the nth time, of which version of the fleet, and why not; nil where it was.
type attempt struct {
	nth, version uint64
	err          error
}

// join is the page that a request asks for. The reader leaves it in the end.
func (s *pages) join(hub Hub, r *http.Request, build builder) *page {
	q := r.URL.Query()
	q.Del("digest")
	key := pageKey{hub, r.URL.EscapedPath() + "?" + q.Encode()}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.shared[key]
	if p == nil {
		p = &page{key: key, build: build}
		s.shared[key] = p
	}
	p.readers++
	return p
}

// leave lets go of a page that nobody looks at any more.
func (s *pages) leave(p *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.readers--; p.readers == 0 {
		delete(s.shared, p.key)
	}
}

// come makes the page for a reader who comes to it. What it reads beside the fleet is read anew: of changes of that nobody tells, and the
// right to it may have been withdrawn since another reader came. Readers who wait for it at the same time get the same.
func (p *page) come(r *http.Request) (*painted, error) { return p.make(r, p.begun.Load()) }

// paint makes the page as the hub is now, for a request of one of its readers. What has not changed is not made again.
func (p *page) paint(r *http.Request) (*painted, error) { return p.make(r, 0) }

// make makes the page, unless it has been made of this fleet. What it shows beside the fleet is at least of the time when somebody had begun to
// paint so many times.
func (p *page) make(r *http.Request, begun uint64) (*painted, error) {
	v := &visit{Hub: p.key.hub, Request: r, page: p}
	f, err := v.Hub.Fleet(r.Context(), v.namespaces()) // without the lock: it waits for a first list
	if err != nil {
		return nil, err
	}
	v.fleet = f
	p.mu.Lock()
	defer p.mu.Unlock()
	more := p.tried.err != nil || p.now != nil && p.now.more
	if p.tried.nth > 0 && p.tried.version >= f.Version && (!more || p.tried.nth > begun) {
		return p.made()
	}
	if more && p.tried.nth <= begun {
		p.memory = nil
	}
	// Others wait for it too: it does not end with this one's request.
	v.Request = r.WithContext(context.WithoutCancel(r.Context()))
	p.tried = attempt{nth: p.begun.Add(1), version: f.Version}
	p.tried.err = p.try(v)
	return p.made()
}

// made is the page as it was made last, or why it was not.
func (p *page) made() (*painted, error) {
	if p.tried.err != nil {
		return nil, p.tried.err
	}
	return p.now, nil
}

// try paints the page.
func (p *page) try(v *visit) error {
	now, err := v.paint(p.build)
	switch {
	case errors.Is(err, errSame):
		same := *p.now
		same.Version, same.fleet, now = v.fleet.Version, v.fleet, &same
	case err != nil && len(v.fleet.Outdated) > 0 && away(err):
		p.memory = nil // of what no page shows
		if now, err = v.keep(p.now, err); err != nil {
			return err
		}
	case err != nil:
		p.memory = nil
		return err
	}
	p.now = now
	return nil
}

// away tells whether an error says nothing of what was asked for: the API server cannot be reached, or is not well.
func away(err error) bool {
	if _, refused := errors.AsType[*Refusal](err); refused {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
}

// errSame says that nothing that a page shows has changed.
var errSame = errors.New("the page is as it was")

// piece is what a page makes of a place.
type piece[T any] struct {
	place Place
	sum   uint64
	made  T
}

// wholes is held by who makes something of a whole fleet, which takes much memory for a moment: many readers may come at once.
var wholes = make(chan struct{}, 2)

// each is what a page makes of each place, with a sum that differs where that does; without one, a place does not concern the page. Of
// places that have not changed it is what was made of them before. It is errSame where all of it is.
func each[T any](v *visit, of func(cluster string, c *Content) (T, uint64)) ([]piece[T], error) {
	before, _ := v.page.memory.([]piece[T])
	if was := v.page.now; was == nil || !was.fleet.alike(v.fleet) {
		before = nil // what is known of places by others is not the same
	}
	if before == nil {
		wholes <- struct{}{}
		defer func() { <-wholes }()
	}
	now := make([]piece[T], 0, max(len(before), 1))
	changed, i := before == nil, 0
	for _, place := range v.fleet.Places {
		for i < len(before) && before[i].place.Cluster() < place.Cluster() {
			changed = changed || before[i].sum != 0
			i++
		}
		old := piece[T]{}
		if i < len(before) && before[i].place.Cluster() == place.Cluster() {
			old = before[i]
			i++
		}
		if old.place != place {
			c := place.Read()
			made, sum := of(place.Cluster(), &c)
			changed = changed || sum != old.sum
			old = piece[T]{place, sum, made}
		}
		now = append(now, old)
	}
	for ; i < len(before); i++ {
		changed = changed || before[i].sum != 0
	}
	v.page.memory = now
	if !changed {
		return now, errSame
	}
	return now, nil
}
