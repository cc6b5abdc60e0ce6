package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// limit measures a bare client: the rate of creates of the same ManifestWorks as Towline's, and the time from a write
// to its event in a watch. It removes the works afterwards.
func (b *Bench) limit(ctx context.Context) error {
	n := min(b.applications(), b.Sample)
	works := make([]limitWork, n)
	for i := range works {
		var err error
		// For every n, the works are spread over all clusters.
		if works[i], err = b.render(i * b.applications() / n); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := each(ctx, n, b.Parallel, func(ctx context.Context, i int) error {
		return b.bare.create(ctx, works[i].parent, works[i].body)
	}); err != nil {
		return err
	}
	b.result.set("limit.rate", float64(n)/time.Since(began).Seconds())
	if err := b.roundTrip(ctx, &works[0]); err != nil {
		return err
	}
	if err := each(ctx, n, b.Parallel, func(ctx context.Context, i int) error { return b.bare.remove(ctx, works[i].path()) }); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, time.Second, true, b.noWorks)
}

// noWorks returns whether all works are gone. Works that an agent has seen wait for the agent.
func (b *Bench) noWorks(ctx context.Context) (bool, error) {
	var list struct{ Items []json.RawMessage }
	data, err := b.bare.rest.Get().AbsPath(worksPath).Param("limit", "1").DoRaw(ctx)
	if err != nil {
		return false, err
	}
	err = json.Unmarshal(data, &list)
	return len(list.Items) == 0, err
}

// limitWork is a work of the bare client.
type limitWork struct {
	parent, name string
	body         []byte
}

func (w *limitWork) path() string { return w.parent + "/" + w.name }

// render returns the work that Towline would make of an Application.
func (b *Bench) render(app int) (limitWork, error) {
	made := &argocd.Application{}
	if err := json.Unmarshal(encoded(b.application(app, b.setUIDs[b.set(app)])), made); err != nil {
		return limitWork{}, err
	}
	made.UID = "limit"
	w, err := work.Render(made, work.Requests{Volatile: true})
	if err != nil {
		return limitWork{}, err
	}
	w.APIVersion, w.Kind = "work.open-cluster-management.io/v1", "ManifestWork"
	w.Annotations[marker] = "0"
	return limitWork{parent: worksOf(w.Namespace), name: w.Name, body: encoded(w)}, nil
}

// roundTrip measures the time from a write of the bare client until its own watch shows the write, one write at a time.
func (b *Bench) roundTrip(ctx context.Context, w *limitWork) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := watch(watching, b.bare, w.parent, b.failed, func(_ string, w *manifestWork) {
		if n, err := strconv.Atoi(w.Annotations[marker]); err == nil {
			b.roundTrips.saw(0, n, time.Now())
		}
	}); err != nil {
		return err
	}
	for i := range b.Changes {
		b.roundTrips.sent(0, i+1, time.Now())
		body := object{"metadata": object{"annotations": object{marker: strconv.Itoa(i + 1)}}}
		if err := b.bare.patch(ctx, w.path(), body); err != nil {
			return err
		}
		if err := b.roundTrips.wait(ctx); err != nil {
			return fmt.Errorf("round trip: %w", err)
		}
	}
	b.result.delays("roundtrip", b.roundTrips.take())
	return nil
}
