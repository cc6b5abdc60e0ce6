package ui

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
)

// many returns a hub with 10,000 Applications, and its page.
func many(b *testing.B) (*fake, *page) {
	b.Helper()
	const clusters, sets = 2000, 5
	f := &fake{}
	for i := range clusters {
		f.managed = append(f.managed, managed(fmt.Sprintf("cluster-%04d", i), "eu"))
		for s := range sets {
			f.apps = append(f.apps, app("argocd", fmt.Sprintf("set-%d", s), f.managed[i].Name, "Healthy"))
		}
	}
	fleet, err := f.Fleet(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return f, &page{key: pageKey{hub: &still{fake: f, fleet: fleet}}, build: fleetPage}
}

// still is a hub with a fixed fleet.
type still struct {
	*fake

	fleet *Fleet
}

// Fleet implements Hub.
func (s *still) Fleet(context.Context, []string) (*Fleet, error) { return s.fleet, nil }

// BenchmarkPaint measures the whole page of 10,000 Applications. BenchmarkChange measures the effect of a change of one
// Application for each open page.
func BenchmarkPaint(b *testing.B) {
	_, p := many(b)
	r := httptest.NewRequestWithContext(b.Context(), "GET", "/?group=region", nil)
	for b.Loop() {
		p.now, p.memory, p.tried = nil, nil, attempt{}
		now, err := p.paint(r)
		if err != nil {
			b.Fatal(err)
		}
		if err := now.write(httptest.NewRecorder()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChange measures one change, see BenchmarkPaint.
func BenchmarkChange(b *testing.B) {
	f, p := many(b)
	s, _ := p.key.hub.(*still)
	var fleets [2]*Fleet
	for i, health := range []string{"Degraded", "Healthy"} {
		f.apps[5000] = app("argocd", "set-0", "cluster-1000", health)
		fleets[i], _ = f.Fleet(b.Context(), nil)
	}
	r := httptest.NewRequestWithContext(b.Context(), "GET", "/?group=region", nil)
	had, err := p.paint(r)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		next := *fleets[had.Version%2]
		next.Version = had.Version + 1
		s.fleet = &next
		now, err := p.paint(r)
		if err != nil {
			b.Fatal(err)
		}
		changed, same, err := patches(had.Chunks, now.Chunks)
		if err != nil || !same || len(changed) == 0 {
			b.Fatal(changed, same, err)
		}
		had = now
	}
}
