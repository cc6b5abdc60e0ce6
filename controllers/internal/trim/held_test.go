package trim_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// BenchmarkHeld reports the bytes of live memory for each Application and each work in the cache.
func BenchmarkHeld(b *testing.B) {
	const n = 2000
	apps, works := make([][]byte, n), make([][]byte, n)
	for i := range n {
		apps[i], works[i] = stored(b, i)
	}
	for _, bc := range []struct {
		name   string
		bodies [][]byte
		decode func([]byte) any
	}{
		{"applications", apps, func(data []byte) any { return slimmed(b, data, &argocd.Application{}, trim.Application) }},
		{"works", works, func(data []byte) any { return slimmed(b, data, &workv1.ManifestWork{}, trim.Work) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			for b.Loop() {
				before := live()
				held := make([]any, n)
				for i, data := range bc.bodies {
					held[i] = bc.decode(data)
				}
				b.ReportMetric(float64(live()-before)/n, "B/held")
				runtime.KeepAlive(held)
			}
		})
	}
}

// stored returns an Application and its work in the JSON of the API server, after a first sync.
func stored(b *testing.B, i int) (app, w []byte) {
	b.Helper()
	name := fmt.Sprintf("cluster%05d-guestbook", i)
	a := fixture.Application(name).ApplicationSet("guestbook").Cluster(fmt.Sprintf("cluster%05d", i)).
		UID(types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000001", i))).Finalizers(apis.FinalizerResources).Obj()
	rendered, err := work.Render(a, work.Requests{})
	if err != nil {
		b.Fatal(err)
	}
	rendered.Status = fixture.Feedback(work.Identifier(a)).Healthy("53e28ff20cc530b9ada2173fbbd64d48338583ba").Obj()
	seen := feedback.Parse(&rendered.Status, work.Identifier(a))
	a.Status = seen.Status
	app, err = json.Marshal(a)
	if err != nil {
		b.Fatal(err)
	}
	w, err = json.Marshal(rendered)
	if err != nil {
		b.Fatal(err)
	}
	return app, w
}

func slimmed(b testing.TB, data []byte, into any, transform func(any) (any, error)) any {
	b.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		b.Fatal(err)
	}
	out, err := transform(into)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
