package bench

import (
	"context"
	"errors"
	"time"
)

// rollout creates the first half of the Applications while Towline runs, as an ApplicationSet does, and measures until
// the last Application has its work. For every work, an Application is created on the same API server.
func (b *Bench) rollout(ctx context.Context) error {
	if err := b.startTowline(ctx); err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	empty, err := b.resident("VmRSS")
	if err != nil {
		return err
	}
	b.result.set("memory.empty", empty)
	half := b.applications() / 2
	works := newTally(0, half, b.turn)
	b.created.Store(works)
	used, err := b.used()
	if err != nil {
		return err
	}
	began, err := b.makeApplications(ctx, 0, half)
	if err != nil {
		return err
	}
	if err := works.wait(ctx); err != nil {
		return err
	}
	b.propagated("rollout", half, works.last.Sub(began))
	if b.AtOnce {
		if err := errors.Join(b.status.wait(ctx), b.reports.wait(ctx)); err != nil {
			return err
		}
		b.result.set("rollout.reported", float64(b.status.shown())/time.Since(began).Seconds())
	}
	return errors.Join(b.settle(ctx), b.usedEach("rollout.cpu", used, half))
}

// backlog creates the second half while Towline is stopped, starts Towline, and measures from the first work to the
// last work.
func (b *Bench) backlog(ctx context.Context) error {
	b.stopTowline()
	half, all := b.applications()/2, b.applications()
	began, err := b.makeApplications(ctx, half, all)
	if err != nil {
		return err
	}
	b.both(float64(all-half) / time.Since(began).Seconds())
	works := newTally(half, all, b.turn)
	b.created.Store(works)
	if err = b.startTowline(ctx); err != nil {
		return err
	}
	if err := works.wait(ctx); err != nil {
		return err
	}
	b.propagated("backlog", all-half, works.last.Sub(works.first))
	return errors.Join(b.settle(ctx), b.usedEach("backlog.cpu", 0, all-half))
}

// propagated records a rate of works, and its share of the bare client's rate.
func (b *Bench) propagated(name string, works int, took time.Duration) {
	rate := float64(works) / took.Seconds()
	b.result.set(name+".rate", rate)
	b.result.set(name+".share", rate/b.result.Figures["limit.rate"])
}

// both records the bare client's rate of creating Applications. It also records the rollout's share of the rate at
// which the bare client creates an Application and a work, with equally many parallel requests.
func (b *Bench) both(applications float64) {
	f := b.result.Figures
	b.result.set("limit.applications", applications)
	b.result.set("rollout.share_of_both", f["rollout.rate"]*(1/f["limit.rate"]+1/applications))
}
