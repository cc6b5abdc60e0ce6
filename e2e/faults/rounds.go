package faults

import (
	"context"
	"slices"
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
	run    func(context.Context, []Point, func(Result)) error
}

// Run runs points: those that meet a single write many at a time, those of a kill or of a watch in rounds. Each result is told as it
// comes. Where the time ends before the points, some of each have been run.
func (g *Gate) Run(ctx context.Context, points []Point, tell func(Result)) error {
	var mu sync.Mutex
	told := func(r Result) {
		mu.Lock()
		defer mu.Unlock()
		tell(r)
	}
	jobs := g.jobs(points)
	for i, j := range jobs {
		if g.over() {
			g.Say("the time is over, %d of %d rounds are left", len(jobs)-i, len(jobs))
			break
		}
		g.Say("round %d of %d: %d points, %s", i+1, len(jobs), len(j.points), j.says)
		if err := j.run(ctx, j.points, told); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// jobs puts points together that can run at a time: a round of each sort in turn.
func (g *Gate) jobs(points []Point) []job {
	var single []Point
	var kills [][]Point
	watches := map[[2]string][][]Point{}
	for _, p := range points {
		switch {
		case p.Watch != "":
			of := [2]string{string(p.Watch), p.Resource}
			watches[of] = g.join(watches[of], p)
		case p.kills():
			kills = g.join(kills, p)
		default:
			single = append(single, p)
		}
	}
	sorts := make([][]job, 3)
	for round := range slices.Chunk(single, 3*g.Parallel) {
		sorts[0] = append(sorts[0], job{"each with a fault of its own", round, g.all})
	}
	for _, round := range kills {
		sorts[1] = append(sorts[1], job{"with one kill", round, g.killRound})
	}
	for _, kind := range WatchKinds {
		for _, resource := range WatchedResources {
			for _, round := range watches[[2]string{string(kind), resource}] {
				sorts[2] = append(sorts[2], job{string(kind) + " of " + resource, round, g.watchRound})
			}
		}
	}
	var out []job
	for i := range max(len(sorts[0]), len(sorts[1]), len(sorts[2])) {
		for _, jobs := range sorts {
			if i < len(jobs) {
				out = append(out, jobs[i])
			}
		}
	}
	return out
}

// watchRound runs points while the watches of their resource meet their fault.
func (g *Gate) watchRound(ctx context.Context, points []Point, tell func(Result)) error {
	g.Proxy.watches.set(points[0].Resource, points[0].Watch)
	defer g.Proxy.watches.set("", "")
	return g.all(ctx, points, tell)
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

// over tells whether no point is to begin any more.
func (g *Gate) over() bool { return !g.Until.IsZero() && time.Now().After(g.Until) }

// all runs points, so many at a time, as long as there is time.
func (g *Gate) all(ctx context.Context, points []Point, tell func(Result)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(g.Parallel)
	for _, p := range points {
		group.Go(func() error {
			if g.over() {
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
// without one. For those that come too late there is another.
func (g *Gate) killRound(ctx context.Context, points []Point, tell func(Result)) error {
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
