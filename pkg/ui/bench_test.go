package ui

import (
	"fmt"
	"net/http/httptest"
	"testing"
)

// BenchmarkAgain is what a change costs for each stream of a fleet of 10,000 Applications, and BenchmarkPaint what a whole page does.
func BenchmarkAgain(b *testing.B) { paints(b, true) }

// BenchmarkPaint: see BenchmarkAgain.
func BenchmarkPaint(b *testing.B) { paints(b, false) }

func paints(b *testing.B, again bool) {
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
	v := &visit{Hub: ready{f, fleet}, Request: httptest.NewRequestWithContext(b.Context(), "GET", "/?group=region", nil), build: fleetPage}
	for b.Loop() {
		p, err := v.paint()
		if err != nil {
			b.Fatal(err)
		}
		if again {
			v.see(p)
		}
	}
}
