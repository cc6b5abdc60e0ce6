package faults

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
)

// fewVanish is how many points of a round may have their Application go from the hub while Towline is down: when more than ten are
// missing after a start, Towline keeps what they have for a person to decide.
const fewVanish = 8

// A job is points that run at a time.
type job struct {
	says   string
	points []Point
	run    func(ctx context.Context, points []Point, until time.Time, tell func(Result)) error
}

// Run runs points: those that meet a single write many at a time, those of a kill in rounds, those of each fault of watches for
// themselves. Each result is told as it comes. Where the time ends before the points, some of each sort have been run.
func (g *Gate) Run(ctx context.Context, points []Point, tell func(Result)) error {
	var mu sync.Mutex
	told := func(r Result) {
		mu.Lock()
		defer mu.Unlock()
		tell(r)
	}
	left := len(points)
	for _, jobs := range g.jobs(points) {
		of := 0
		for _, j := range jobs {
			of += len(j.points)
		}
		until := share(g.Until, of, left)
		left -= of
		for i, j := range jobs {
			if isOver(until) {
				g.Say("the time is over, %d of %d rounds are left: %s", len(jobs)-i, len(jobs), j.says)
				break
			}
			g.Say("round %d of %d: %d points, %s", i+1, len(jobs), len(j.points), j.says)
			if err := j.run(ctx, j.points, until, told); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// share is when some points have had their part of the time that is left for all; zero for no end.
func share(until time.Time, points, all int) time.Time {
	if until.IsZero() || all == 0 {
		return until
	}
	return time.Now().Add(time.Until(until) * time.Duration(points) / time.Duration(all))
}

// jobs puts points together that can run at a time: rounds of kills, the faults of watches, and all that meet a single write.
func (g *Gate) jobs(points []Point) (sorts [3][]job) {
	var single []Point
	var kills [][]Point
	watches := map[[2]string][]Point{}
	for _, p := range points {
		switch {
		case p.Watch != "":
			of := [2]string{string(p.Watch), p.Resource}
			watches[of] = append(watches[of], p)
		case p.kills():
			kills = g.join(kills, p)
		default:
			single = append(single, p)
		}
	}
	for _, round := range kills {
		sorts[0] = append(sorts[0], job{"with one kill", round, g.killRound})
	}
	for _, kind := range WatchKinds {
		for _, resource := range WatchedResources {
			if of := watches[[2]string{string(kind), resource}]; len(of) > 0 {
				sorts[1] = append(sorts[1], job{string(kind) + " of " + resource, of, g.watchRound})
			}
		}
	}
	if len(single) > 0 {
		sorts[2] = append(sorts[2], job{"each with a fault of its own", single, g.all})
	}
	return sorts
}

// watchRound runs points while the watches of their resource meet their fault.
func (g *Gate) watchRound(ctx context.Context, points []Point, until time.Time, tell func(Result)) error {
	g.Proxy.watches.set(points[0].Resource, points[0].Watch)
	defer g.Proxy.watches.set("", "")
	return g.all(ctx, points, until, tell)
}

// join puts a point into a round that has room for it.
func (g *Gate) join(rounds [][]Point, p Point) [][]Point {
	vanish := func(p Point) bool { return g.flows[p.Flow].Vanishes }
	for i, round := range rounds {
		few := 0
		for _, other := range round {
			if vanish(other) {
				few++
			}
		}
		if len(round) < g.Parallel && (!vanish(p) || few < fewVanish) {
			rounds[i] = append(round, p)
			return rounds
		}
	}
	return append(rounds, []Point{p})
}

// isOver tells whether a time has come; zero never does.
func isOver(until time.Time) bool { return !until.IsZero() && time.Now().After(until) }

// all runs points, so many at a time, as long as there is time.
func (g *Gate) all(ctx context.Context, points []Point, until time.Time, tell func(Result)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(g.Parallel)
	for _, p := range points {
		group.Go(func() error {
			if isOver(until) {
				return nil
			}
			name, s := g.begin(&p)
			tell(g.run(ctx, p, s, name))
			return ctx.Err()
		})
	}
	return group.Wait()
}

// killRound runs points that want a kill, all at a time. It comes when the write of each waits for it, or the point has ended
// without one. For those that come too late there is another. A round that has begun is run to its end.
func (g *Gate) killRound(ctx context.Context, points []Point, _ time.Time, tell func(Result)) error {
	scripts := make([]*script, len(points))
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range points {
		name, s := g.begin(&p)
		scripts[i] = s
		group.Go(func() error {
			defer s.end()
			tell(g.run(ctx, p, s, name))
			return ctx.Err()
		})
	}
	group.Go(func() error {
		var since time.Time
		return wait.PollUntilContextCancel(ctx, look/2, true, func(ctx context.Context) (bool, error) {
			holding, open := standing(scripts)
			switch {
			case len(holding) == 0:
				since = time.Time{}
				return open == 0, nil
			case since.IsZero():
				since = time.Now()
			}
			if open > 0 && time.Since(since) < gathering {
				return false, nil
			}
			for _, s := range holding {
				s.kill()
			}
			if err := g.towline.Kill(); err != nil {
				return false, err
			}
			return false, g.towline.Restart(ctx)
		})
	})
	return group.Wait()
}

// standing are the scripts whose write waits for the kill, and how many have not come to theirs.
func standing(scripts []*script) (holding []*script, open int) {
	for _, s := range scripts {
		switch s.standing() {
		case holds:
			holding = append(holding, s)
		case underWay:
			open++
		}
	}
	return holding, open
}
