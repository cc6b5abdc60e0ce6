package faults

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/fleet"
)

// fewVanish is how many points of a round may have their Application go from the hub while Towline is down: when more than ten are
// missing after a start, Towline keeps what they have for a person to decide.
const fewVanish = 8

// fewClusters is how many points of a round may have a cluster of their own. The hub's registration controller accepts and removes some
// twenty clusters a minute, and what falls behind falls further behind with each round.
const fewClusters = 12

// A job is points that run at a time.
type job struct {
	says   string
	points []Point
	run    func(ctx context.Context, points []Point, until time.Time, tell func(Result)) error
}

// Run runs points: those that meet a single write many at a time, those of a kill in rounds, those of each fault of watches for
// themselves. Each result is told as it comes. Where the time ends before the points, some of each sort have been run.
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

// oneAtATime is a function that several may call at a time.
func oneAtATime[T any](tell func(T)) func(T) {
	var mu sync.Mutex
	return func(of T) {
		mu.Lock()
		defer mu.Unlock()
		tell(of)
	}
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
	var single, kills, slow []Point
	watches := map[[2]string][]Point{}
	for _, p := range points {
		switch {
		case p.Watch != "":
			of := [2]string{string(p.Watch), p.Resource}
			watches[of] = append(watches[of], p)
		case p.kills() && g.flows[p.Flow].Agent:
			single = append(single, p) // it has an agent of its own
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
	for _, round := range g.rounds(slow) { // the kill of another would have each of them begin anew
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

// watchRound runs points while the watches of their resource meet their fault.
func (g *Gate) watchRound(ctx context.Context, points []Point, until time.Time, tell func(Result)) error {
	g.Proxy.watches.set(points[0].Resource, points[0].Watch)
	defer g.Proxy.watches.set("", "")
	return g.all(ctx, points, until, tell)
}

// join puts a point into a round that has room for it.
func (g *Gate) join(rounds [][]Point, p Point) [][]Point {
	for i, round := range rounds {
		if len(round) < g.Parallel && g.hasRoom(round, &p) {
			rounds[i] = append(round, p)
			return rounds
		}
	}
	return append(rounds, []Point{p})
}

// hasRoom tells whether a round has few enough points of the flow's sort.
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

// killRounds runs points that want a kill, a round at a time. The next round begins right after a kill: while its points come to their
// write, those of the last one come to their end. A round that has begun is run to its end.
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

// rounds puts points that want a kill into rounds.
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

// kill kills a process once when enough points wait for it, and starts it again. Points that have not come to their write by then go on
// without a kill of their own. It returns without a kill when all points have ended.
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

// standing is how many scripts have a write that waits for the kill, and how many have not come to theirs.
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

// gathering is how points come to their kill: when the first did, when the last one did, and how many have.
type gathering struct {
	first, last time.Time
	held        int
}

// over tells whether a kill has no more to wait for: all points that are under way hold, or no more come.
func (g *gathering) over(held, underWay int, now time.Time) bool {
	if g.held == 0 {
		g.first = now
	}
	if held > g.held {
		g.held, g.last = held, now
	}
	return held == underWay || now.Sub(g.last) >= lull || now.Sub(g.first) >= longest
}
