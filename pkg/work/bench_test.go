package work_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// BenchmarkRender measures Render, called by every reconcile of the propagation controller.
func BenchmarkRender(b *testing.B) {
	app := fixture.Application("guestbook").ApplicationSet("set").Finalizers(apis.FinalizerResources).Obj()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := work.Render(app, work.Requests{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate measures the equality check after Render. The check nearly always finds no difference.
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
