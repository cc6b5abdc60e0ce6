package delivery

import "testing"

// BenchmarkDecide measures the most frequent decision: no action is needed.
func BenchmarkDecide(b *testing.B) {
	s := of(cascading())
	s.Own = workFor(b, s.App)
	for b.Loop() {
		if plan := Decide(s.Facts, s.Options); len(plan.Steps) > 0 {
			b.Fatal("something is to be done")
		}
	}
}
