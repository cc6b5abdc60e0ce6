package bench

import (
	"context"
	"errors"
	"time"
)

// convergence lets all agents apply their works and report the first sync, and measures until the hub shows it all.
func (b *Bench) convergence(ctx context.Context) error {
	n := b.applications()
	before, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for app := range n {
		b.status.sent(app, firstSync, began)
		b.reports.sent(app, firstSync, began)
	}
	if err := each(ctx, n, b.Agents, func(ctx context.Context, app int) error {
		w := b.work(app)
		return errors.Join(b.take(ctx, w), b.report(ctx, w, app, 0))
	}); err != nil {
		return err
	}
	if err := errors.Join(b.status.wait(ctx), b.reports.wait(ctx)); err != nil {
		return err
	}
	b.result.set("convergence.rate", float64(n)/time.Since(began).Seconds())
	b.status.take()
	b.reports.take()
	if err := b.settle(ctx); err != nil {
		return err
	}
	after, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	d := after.since(before)
	b.result.set("convergence.cpu", d.cpu["towline"]*1000/float64(n))
	b.result.set("convergence.application_writes", d.requests.of("applications", writing...)/float64(n))
	b.result.set("convergence.report_bytes", d.written.of("multiclusterapplicationsetreports")/float64(n))
	b.result.set("storage.application", after.storage/1024/float64(n))
	return b.memory("memory.converged")
}
