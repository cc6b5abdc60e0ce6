package delivery

import "testing"

// BenchmarkDecide is the decision that is made most often: nothing is to be done.
func BenchmarkDecide(b *testing.B) {
	s := of(cascading())
	s.Own = workFor(b, s.App)
	for b.Loop() {
		if plan := Decide(s.Facts, s.Options); len(plan.Steps) > 0 {
			b.Fatal("something is to be done")
		}
	}
}
