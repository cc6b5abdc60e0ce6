package bench

import (
	"context"
	"errors"
	"time"
)

// convergence lets all reporting agents apply their works and report the first sync, and measures the time until the
// hub shows all first syncs.
func (b *Bench) convergence(ctx context.Context) error {
	before, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if !b.AtOnce {
		if err := b.reportAll(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(b.status.wait(ctx), b.reports.wait(ctx)); err != nil {
		return err
	}
	took := time.Since(began)
	b.status.take()
	b.reports.take()
	if err := b.settle(ctx); err != nil {
		return err
	}
	after, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	if !b.AtOnce { // with AtOnce, the rollout includes the convergence
		d, n := after.since(before), float64(b.reporting()*b.Sets)
		b.result.set("convergence.rate", n/took.Seconds())
		b.result.set("convergence.cpu", d.cpu["towline"]*1000/n)
		b.result.set("convergence.application_writes", d.requests.of("applications", writing...)/n)
		b.result.set("convergence.work_writes", d.requests.of("manifestworks", writing...)/n-b.agents.writes())
		b.result.set("convergence.report_bytes", d.written.of("multiclusterapplicationsetreports")/n)
	}
	b.result.set("storage.application", after.storage/1024/float64(b.applications()))
	b.result.processes("converged.memory.", after.memory)
	return errors.Join(b.memory("memory.converged"), b.stored(ctx), b.storedInDatabase(ctx))
}

// reportAll lets all reporting agents report, in the order of the rollout.
func (b *Bench) reportAll(ctx context.Context) error {
	began := time.Now()
	apps := make([]int, 0, b.applications())
	for i := range b.applications() {
		if app := b.turn(i); app < b.reporting()*b.Sets {
			b.expectFirst(app, began)
			apps = append(apps, app)
		}
	}
	return each(ctx, len(apps), b.Agents, func(ctx context.Context, i int) error { return b.first(ctx, apps[i]) })
}

// stored records the size of an Application, its work and its row. etcd stores the objects as the API server returns
// them.
func (b *Bench) stored(ctx context.Context) error {
	w := b.work(0)
	for _, o := range []struct {
		figure, path string
		of           int
	}{
		{"storage.of_application", applicationsPath + "/" + b.name(0), 1},
		{"storage.of_work", worksOf(w.Namespace) + "/" + w.Name, 1},
		{"storage.of_row", reportsPath + "/" + b.setName(0), b.Clusters},
	} {
		data, err := b.bare.rest.Get().AbsPath(o.path).DoRaw(ctx)
		if err != nil {
			return err
		}
		b.result.set(o.figure, float64(len(data))/float64(o.of))
	}
	return nil
}
