package work_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// BenchmarkRender is what every reconcile of propagation does.
func BenchmarkRender(b *testing.B) {
	app := fixture.Application("guestbook").ApplicationSet("set").Finalizers(apis.FinalizerResources).Obj()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := work.Render(app, work.Requests{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate is the equality check that follows, which nearly always finds nothing to do.
func BenchmarkUpdate(b *testing.B) {
	app := fixture.Application("guestbook").ApplicationSet("set").Finalizers(apis.FinalizerResources).Obj()
	existing, err := work.Render(app, work.Requests{})
	if err != nil {
		b.Fatal(err)
	}
	desired := existing.DeepCopy()
	b.ReportAllocs()
	for b.Loop() {
		if _, changed := work.Update(existing, desired); changed {
			b.Fatal("a change")
		}
	}
}
