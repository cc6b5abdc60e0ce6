package ui

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// pages are the open pages. Readers with the same identity and the same address share a page: Towline paints a shared
// page once for all readers.
type pages struct {
	mu     sync.Mutex
	shared map[pageKey]*page
}

// pageKey identifies a shared page.
type pageKey struct {
	hub     Hub
	address string
}

// page is an open page.
type page struct {
	key   pageKey
	build builder

	// readers is the number of readers, guarded by pages.mu.
	readers int

	// begun counts the started paints.
	begun atomic.Uint64

	// mu guards painting. now is the last painted page, memory the pieces of each place from the last paint, and tried
	// the last attempt.
	mu     sync.Mutex
	now    *painted
	memory any
	tried  attempt
}

// attempt is the nth paint of the page: the version of its fleet, and its error; nil for success.
type attempt struct {
	nth, version uint64
	err          error
}

// join returns the page for a request. The reader must call leave.
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

// leave removes a page without readers.
func (s *pages) leave(p *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.readers--; p.readers == 0 {
		delete(s.shared, p.key)
	}
}

// come returns the page for a new reader. come reads the page's objects outside the fleet again. No watch reports
// changes of these objects, and the right to read them may be gone since the last reader came. Concurrent new readers
// share the same reads.
func (p *page) come(r *http.Request) (*painted, error) { return p.make(r, p.begun.Load()) }

// paint returns the page for the current hub, for a request of one of its readers. Unchanged parts are reused.
func (p *page) paint(r *http.Request) (*painted, error) { return p.make(r, 0) }

// make paints the page, unless the last paint is of the same fleet. The objects outside the fleet are from a paint
// later than the paint number begun.
func (p *page) make(r *http.Request, begun uint64) (*painted, error) {
	v := &visit{Hub: p.key.hub, Request: r, page: p}
	f, err := v.Hub.Fleet(r.Context(), v.namespaces()) // without the lock: Fleet waits for a first list
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
	// Requests of other users wait for the result of this paint. The end of the first request must not cancel the paint.
	v.Request = r.WithContext(context.WithoutCancel(r.Context()))
	p.tried = attempt{nth: p.begun.Add(1), version: f.Version}
	p.tried.err = p.try(v)
	return p.made()
}

// made returns the last painted page, or the error of the last attempt.
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
		p.memory = nil // the pieces have no matching page
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

// away returns whether an error is about the API server itself, not about the request: the API server is unreachable or
// unhealthy.
func away(err error) bool {
	if _, refused := errors.AsType[*Refusal](err); refused {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
}

// errSame means that the shown content is unchanged.
var errSame = errors.New("the page is unchanged")

// piece is a page's result for a place.
type piece[T any] struct {
	place Place
	sum   uint64
	made  T
}

// wholes limits concurrent work on whole fleets, because each needs much memory for a moment and many readers may come
// at once.
var wholes = make(chan struct{}, 2)

// each returns a page's result for each place, with a sum of the result. A sum of 0 means that the page does not use
// the place. Unchanged places keep the earlier results. If all results are unchanged, each returns errSame.
func each[T any](v *visit, of func(cluster string, c *Content) (T, uint64)) ([]piece[T], error) {
	before, _ := v.page.memory.([]piece[T])
	if was := v.page.now; was == nil || !was.fleet.alike(v.fleet) {
		before = nil // places may depend on changed facts of the fleet
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
