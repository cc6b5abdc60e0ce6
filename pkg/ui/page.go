package ui

import (
	"errors"
	"net/http"
	"sync"
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

	// mu is held by whoever paints. now is the page as it was painted last, and memory what was made of each place then.
	mu     sync.Mutex
	now    *painted
	memory any
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
// right to it may have been withdrawn since another reader came.
func (p *page) come(r *http.Request) (*painted, error) {
	p.mu.Lock()
	if p.now != nil && p.now.more {
		p.now, p.memory = nil, nil
	}
	p.mu.Unlock()
	return p.paint(r)
}

// paint makes the page as the hub is now, for a request of one of its readers. What has not changed is not made again.
func (p *page) paint(r *http.Request) (*painted, error) {
	v := &visit{Hub: p.key.hub, Request: r, page: p}
	f, err := v.Hub.Fleet(r.Context(), v.namespaces()) // without the lock: it waits for a first list
	if err != nil {
		return nil, err
	}
	v.fleet = f
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != nil && p.now.Version >= f.Version {
		return p.now, nil
	}
	now, err := v.paint(p.build)
	switch {
	case errors.Is(err, errSame):
		same := *p.now
		same.Version, same.fleet, now = f.Version, f, &same
	case err != nil:
		p.memory = nil // of what no page shows
		return nil, err
	}
	p.now = now
	return now, nil
}

// errSame says that nothing that a page shows has changed.
var errSame = errors.New("the page is as it was")

// piece is what a page makes of a place.
type piece[T any] struct {
	place Place
	sum   uint64
	made  T
}

// each is what a page makes of each place, with a sum that differs where that does; without one, a place does not concern the page. Of
// places that have not changed it is what was made of them before. It is errSame where all of it is.
func each[T any](v *visit, of func(cluster string, c *Content) (T, uint64)) ([]piece[T], error) {
	before, _ := v.page.memory.([]piece[T])
	if was := v.page.now; was == nil || !was.fleet.alike(v.fleet) {
		before = nil // what is known of places by others is not the same
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
