package propagation

import (
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// TestNoTraceCostsNothing: without a collector, a reconcile collects no spans.
func TestNoTraceCostsNothing(t *testing.T) {
	if n := testing.Benchmark(BenchmarkNoTrace).AllocsPerOp(); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkNoTrace measures what traces cost a reconcile without a collector.
func BenchmarkNoTrace(b *testing.B) {
	seen, s, now := &observation{}, &delivery.Step{Write: work.Creation(&workv1.ManifestWork{})}, time.Now()
	b.ReportAllocs()
	for b.Loop() {
		seen.traced.decided(nil)
		seen.traced.wroteWork(b.Context(), seen, s, now, nil)
		seen.traced.wroteApplication(now, nil)
		seen.traced.applied(b.Context(), seen, now)
		seen.traced.send(b.Context(), seen, nil)
	}
}
