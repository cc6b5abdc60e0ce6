package faults

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/towline"
)

const (
	// quiet is the time without a write of Towline at the end of a point. A flow without a fault has a longer time, in
	// order to see late writes.
	quiet       = 3 * time.Second
	longerQuiet = 15 * time.Second

	// watchQuiet is the time for a point with a fault of watches. Within this time, each fault occurs at least once.
	watchQuiet = pace + 2*time.Second

	// lull is how long a kill waits for a further point to arrive at its write. longest limits the wait after the first
	// point.
	lull    = 8 * time.Second
	longest = 45 * time.Second

	// tidying limits the time for the removal of a point's objects.
	tidying = 3 * time.Minute
)

// A Gate runs points.
type Gate struct {
	World *World
	Proxy *Proxy

	// Parallel is the number of points that run in parallel.
	Parallel int

	// Patience limits the time of a point, including all waits and backoffs.
	Patience time.Duration

	// Until is the time after which no point begins. Zero: no limit.
	Until time.Time

	// Say prints progress.
	Say func(format string, args ...any)

	towline    *towline.Towline
	flows      map[string]Flow
	references map[string]*reference
	attempt    int64

	// binary and env start Towline. reporting is the kubeconfig of Towline's agent for the hub, without a proxy.
	binary, reporting string
	env               []string

	// old is the delay of Towline's lists and watches, and close are the functions that stop the delaying servers.
	old   time.Duration
	close []func()
}

// reference is the end of a flow without a fault, and Towline's writes.
type reference struct {
	End    State    `json:"end"`
	Writes []string `json:"writes"`
}

// A Result is the result of a point.
type Result struct {
	Point Point

	// Err is the error of a failed point, or nil.
	Err error

	// Reached is set if all faults of the point were met.
	Reached bool

	Took time.Duration
}

// NewGate starts Towline from a binary behind a proxy. If old is not 0, Towline's lists and watches come from an API
// server that learns of each write with this delay. Writes, and reads of a single object, go to the hub's own API
// server. After a kill, Towline therefore starts with an outdated state.
func NewGate(
	ctx context.Context, w *World, binary string, parallel int, old time.Duration, say func(string, ...any), env ...string,
) (*Gate, error) {
	g, err := newGate(w, parallel, say)
	if err != nil {
		return nil, err
	}
	g.binary, g.env = binary, env
	if g.reporting, err = w.Fleet.Hub.ServiceAccountKubeconfig(ctx, first, towline.AddOn); err != nil {
		return nil, err
	}
	if old > 0 {
		g.old = old
		if err := g.serveOld(ctx, old); err != nil {
			return nil, err
		}
	}
	g.towline, err = start(ctx, w.Fleet, g.Proxy, towline.Options{Binary: binary, Args: alone, Env: env})
	return g, err
}

// newGate returns a gate with a proxy, and without Towline.
func newGate(w *World, parallel int, say func(string, ...any)) (*Gate, error) {
	g := &Gate{
		World: w, Parallel: parallel, Patience: 5 * time.Minute, Say: say,
		flows: map[string]Flow{}, references: map[string]*reference{}, attempt: time.Now().UnixNano(),
	}
	for _, flow := range Flows() {
		g.flows[flow.Name] = flow
	}
	var err error
	g.Proxy, err = NewProxy(w.Fleet.Hub.RESTConfig())
	return g, err
}

// Close stops Towline and the proxy.
func (g *Gate) Close() {
	g.towline.Stop()
	g.Proxy.Close()
	for _, end := range slices.Backward(g.close) {
		end()
	}
}

// serveOld runs an API server that learns of each write late, and makes the proxy use the server for all reads that may
// be outdated.
func (g *Gate) serveOld(ctx context.Context, by time.Duration) error {
	hub := g.World.Fleet.Hub
	l, err := newLine(hub.EtcdAddress())
	if err != nil {
		return err
	}
	g.close = append(g.close, l.Close)
	process, config, err := hub.RunAPIServer(ctx, fmt.Sprintf("kube-apiserver-behind-%d", g.attempt), l.Address())
	if err != nil {
		return err
	}
	g.close = append(g.close, process.Stop)
	l.delay(by)
	g.Proxy.behind, err = url.Parse(config.Host)
	return err
}

// LogTail returns the last lines of Towline's log.
func (g *Gate) LogTail(lines int) string { return g.towline.LogTail(lines) }

// Writes returns the number of Towline's writes in each flow without a fault.
func (g *Gate) Writes() map[string]int {
	out := map[string]int{}
	for name, r := range g.references {
		out[name] = len(r.Writes)
	}
	return out
}

// Refer runs flows without a fault, each flow twice, and records their ends. Both runs must agree: a difference could
// not show a fault. Flows with a known end do not run.
func (g *Gate) Refer(ctx context.Context, names []string) error {
	var mu sync.Mutex
	var errs []error
	var failed []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(g.Parallel)
	for _, name := range g.unknown(names) {
		for run := range 2 {
			group.Go(func() error {
				end, writes, err := g.play(ctx, g.flows[name], id(fmt.Sprint(name, "/reference/", run), g.attempt), nil, nil, longerQuiet)
				mu.Lock()
				defer mu.Unlock()
				before := g.references[name]
				switch {
				case err != nil:
					failed = append(failed, name)
					errs = append(errs, fmt.Errorf("%s, without a fault: %w", name, err))
				case before == nil:
					g.references[name] = &reference{end, writes}
				default:
					if diff := before.End.diff(end); diff != "" {
						failed = append(failed, name)
						errs = append(errs, fmt.Errorf("%s ends differently without a fault:\n%s", name, diff))
					}
					if len(writes) > len(before.Writes) {
						before.Writes = writes
					}
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, name := range failed {
		delete(g.references, name)
	}
	return errors.Join(errs...)
}

// unknown returns the flows without a known end.
func (g *Gate) unknown(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return g.references[name] != nil })
}

// play runs a flow once, removes its objects, and returns the final state and Towline's writes. If want is not nil,
// play waits for this state. The final state must stay for a while.
func (g *Gate) play(ctx context.Context, flow Flow, id string, s *script, want State, still time.Duration) (end State, writes []string, err error) {
	if s == nil {
		s = g.Proxy.follow(id, nil, flow.Agent)
	}
	defer g.Proxy.forget(id)
	defer g.World.news.forget(id)
	a := &actor{world: g.World, gate: g, script: s, id: id, remembered: map[string]types.UID{}}
	defer func() { err = errors.Join(err, a.tidy(context.WithoutCancel(ctx))) }()
	ctx, cancel := context.WithTimeout(ctx, g.Patience)
	defer cancel()
	for i, step := range flow.Steps {
		if err := step(ctx, a); err != nil {
			return nil, s.written(), fmt.Errorf("step %d of %d: %w", i+1, len(flow.Steps), err)
		}
	}
	end, err = a.settle(ctx, want, still+2*g.old)
	return end, s.written(), err
}

// settle waits until the state of a point equals want, or is at rest if want is nil. The state must then stay for a
// while without a write of Towline.
func (a *actor) settle(ctx context.Context, want State, still time.Duration) (end State, err error) {
	end = State{}
	since, written, changes, asWanted := time.Now(), -1, -1, false
	err = wait.PollUntilContextCancel(ctx, 2*look, true, func(ctx context.Context) (bool, error) {
		if n := a.world.news.of(a.id); n != changes {
			before := end
			if end, err = a.state(ctx); err != nil {
				return false, err
			}
			changes, asWanted = n, want == nil && end.atRest() || want != nil && want.diff(end) == ""
			if before.diff(end) != "" {
				since = time.Now()
			}
		}
		if n := len(a.script.all()); n != written || !asWanted || !a.reporter.up(a.script) {
			since, written = time.Now(), n
		}
		return asWanted && time.Since(since) >= still, nil
	})
	if err == nil {
		return end, nil
	}
	if !end.atRest() {
		return end, fmt.Errorf("a cluster has not answered, or something is on its way out: %v", end)
	}
	if diff := want.diff(end); want != nil && diff != "" {
		return end, fmt.Errorf("it does not end as without a fault:\n%s", diff)
	}
	return end, fmt.Errorf("it does not come to rest: Towline has written %d times, last %v", len(a.script.all()), last(a.script.all(), 3))
}

func last(all []string, n int) []string { return all[max(0, len(all)-n):] }

// tidy removes all objects of a point.
func (a *actor) tidy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tidying)
	defer cancel()
	if a.agent != nil {
		a.agent.Stop()
	}
	failed, began := a.reporter.end(), time.Now()
	err := wait.PollUntilContextCancel(ctx, 5*look, true, func(ctx context.Context) (bool, error) {
		// An agent of 1.2.0 that applies a work during its deletion keeps the AppliedManifestWork for an hour.
		forced := time.Since(began) > tidying/2
		left, err := a.world.hub.remove(ctx, a.id, forced)
		if err != nil {
			return false, nil //nolint:nilerr // it is tried again
		}
		for _, p := range a.world.clusters {
			more, err := p.remove(ctx, a.id, forced)
			if err != nil {
				return false, nil //nolint:nilerr // it is tried again
			}
			left += more
		}
		return left == 0, nil
	})
	if err != nil {
		return errors.Join(failed, fmt.Errorf("what it left cannot be taken away: %w", err))
	}
	return failed
}

// run runs a point.
func (g *Gate) run(ctx context.Context, p Point, s *script, id string) Result {
	began := time.Now()
	hit := g.Proxy.watches.count()
	still := quiet
	if p.Watch != "" {
		still = watchQuiet
	}
	_, _, err := g.play(ctx, g.flows[p.Flow], id, s, g.references[p.Flow].End, still)
	reached := s.hits() == len(p.Faults)
	if p.Watch != "" {
		reached = g.Proxy.watches.count() > hit
	}
	if err != nil {
		err = fmt.Errorf("%s (%s), writes %v: %w", p.String(), id, s.written(), err)
	}
	return Result{Point: p, Err: err, Reached: reached, Took: time.Since(began)}
}

// begin registers a point's script with the proxy.
func (g *Gate) begin(p *Point) (name string, s *script) {
	name = id(p.String(), g.attempt)
	faults := map[int]Kind{}
	for _, f := range p.Faults {
		faults[f.N] = f.Kind
	}
	return name, g.Proxy.follow(name, faults, g.flows[p.Flow].Agent)
}
