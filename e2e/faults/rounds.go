package faults

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/fleet"
)

// fewVanish limits the points of a round whose Applications leave the hub while Towline is down. If more than ten are
// missing after a start, Towline keeps their works until a person decides.
const fewVanish = 8

// fewClusters limits the points of a round with their own cluster. The hub's registration controller accepts and
// removes some twenty clusters a minute, and a backlog grows with each round.
const fewClusters = 12

// A job is a group of points that run in parallel.
type job struct {
	says   string
	points []Point
	run    func(ctx context.Context, points []Point, until time.Time, tell func(Result)) error
}

// Run runs points: points with a fault of a single write in parallel, points with a kill in rounds, and points of each
// fault of watches separately. tell gets each result at once. If the time ends early, some points of each sort have
// run.
func (g *Gate) Run(ctx context.Context, points []Point, tell func(Result)) error {
	tell = oneAtATime(tell)
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
				g.Say("the time is over, %d of %d are left: %s", len(jobs)-i, len(jobs), j.says)
				break
			}
			g.Say("%d points %s", len(j.points), j.says)
			if err := j.run(ctx, j.points, until, tell); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// oneAtATime returns a function that allows parallel calls.
func oneAtATime[T any](tell func(T)) func(T) {
	var mu sync.Mutex
	return func(of T) {
		mu.Lock()
		defer mu.Unlock()
		tell(of)
	}
}

// share returns the time at which some points have used their part of the remaining time. Zero: no limit.
func share(until time.Time, points, all int) time.Time {
	if until.IsZero() || all == 0 {
		return until
	}
	return time.Now().Add(time.Until(until) * time.Duration(points) / time.Duration(all))
}

// jobs groups the points that can run in parallel: rounds of kills, the faults of watches, and all faults of a single
// write.
func (g *Gate) jobs(points []Point) (sorts [3][]job) {
	var single, kills, slow []Point
	watches := map[[2]string][]Point{}
	for _, p := range points {
		switch {
		case p.Watch != "":
			of := [2]string{string(p.Watch), p.Resource}
			watches[of] = append(watches[of], p)
		case p.kills() && g.flows[p.Flow].Agent:
			single = append(single, p) // the point has its own agent
		case p.kills() && g.flows[p.Flow].Slow:
			slow = append(slow, p)
		case p.kills():
			kills = append(kills, p)
		default:
			single = append(single, p)
		}
	}
	if len(kills) > 0 {
		sorts[0] = append(sorts[0], job{"with a kill", kills, g.killRounds})
	}
	for _, round := range g.rounds(slow) { // a kill for a different point would restart the wait of each slow point
		sorts[0] = append(sorts[0], job{"with a kill, which take minutes", round, g.killRounds})
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

// watchRound runs points during the fault of their resource's watches.
func (g *Gate) watchRound(ctx context.Context, points []Point, until time.Time, tell func(Result)) error {
	g.Proxy.watches.set(points[0].Resource, points[0].Watch)
	defer g.Proxy.watches.set("", "")
	return g.all(ctx, points, until, tell)
}

// join adds a point to a round with room for the point.
func (g *Gate) join(rounds [][]Point, p Point) [][]Point {
	for i, round := range rounds {
		if len(round) < g.Parallel && g.hasRoom(round, &p) {
			rounds[i] = append(round, p)
			return rounds
		}
	}
	return append(rounds, []Point{p})
}

// hasRoom reports whether a round has few enough points of the flow's sort.
func (g *Gate) hasRoom(round []Point, p *Point) bool {
	vanish, own := 0, 0
	for i := range round {
		other := g.flows[round[i].Flow]
		if other.Vanishes {
			vanish++
		}
		if other.Own {
			own++
		}
	}
	flow := g.flows[p.Flow]
	return (!flow.Vanishes || vanish < fewVanish) && (!flow.Own || own < fewClusters)
}

// isOver reports whether a time has passed. Zero never passes.
func isOver(until time.Time) bool { return !until.IsZero() && time.Now().After(until) }

// all runs points, Parallel points at once, as long as time remains.
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

// killRounds runs points with a kill, a round at a time. The next round begins directly after a kill, so that the old
// round's ends overlap with the new round's beginnings. A started round runs to its end.
func (g *Gate) killRounds(ctx context.Context, points []Point, until time.Time, tell func(Result)) error {
	rounds := g.rounds(points)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for i, round := range rounds {
			if isOver(until) {
				g.Say("the time is over, %d of %d rounds of kills are left", len(rounds)-i, len(rounds))
				return nil
			}
			g.Say("kill %d of %d, for %d points", i+1, len(rounds), len(round))
			scripts := make([]*script, len(round))
			for n, p := range round {
				name, s := g.begin(&p)
				scripts[n] = s
				group.Go(func() error {
					defer s.end()
					tell(g.run(ctx, p, s, name))
					return ctx.Err()
				})
			}
			if err := g.kill(ctx, scripts); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// rounds puts points with a kill into rounds.
func (g *Gate) rounds(points []Point) (rounds [][]Point) {
	for _, p := range points {
		rounds = g.join(rounds, p)
	}
	return rounds
}

// kill kills Towline once for a round.
func (g *Gate) kill(ctx context.Context, scripts []*script) error {
	return kill(ctx, g.towline.Process, scripts)
}

// kill kills a process once when enough points wait for the kill, and starts the process again. Points that have not
// arrived at their write by then continue without their own kill. kill returns without a kill when all points have
// ended.
func kill(ctx context.Context, process *fleet.Process, scripts []*script) error {
	var at gathering
	return wait.PollUntilContextCancel(ctx, look/2, true, func(ctx context.Context) (bool, error) {
		held, others := standing(scripts)
		if held == 0 {
			return others == 0, nil
		}
		if !at.over(held, held+others, time.Now()) {
			return false, nil
		}
		for _, s := range scripts {
			s.kill()
		}
		if err := process.Kill(); err != nil {
			return false, err
		}
		return true, process.Restart(ctx)
	})
}

// standing returns the number of scripts with a write that waits for the kill, and the number of scripts still before
// their write.
func standing(scripts []*script) (held, others int) {
	for _, s := range scripts {
		switch s.standing() {
		case holds:
			held++
		case underWay:
			others++
		}
	}
	return held, others
}

// gathering records the arrival of points at their kill: the time of the first arrival, the time of the last arrival,
// and the number of points.
type gathering struct {
	first, last time.Time
	held        int
}

// over reports whether a kill has waited enough: all running points hold, or no more points arrive.
func (g *gathering) over(held, underWay int, now time.Time) bool {
	if g.held == 0 {
		g.first = now
	}
	if held > g.held {
		g.held, g.last = held, now
	}
	return held == underWay || now.Sub(g.last) >= lull || now.Sub(g.first) >= longest
}
