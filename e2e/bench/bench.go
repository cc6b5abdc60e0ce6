package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// A phase that takes longer than this has failed. The slowest phase takes some 50 ms for each Application on two cores.
const (
	minPatience  = 40 * time.Minute
	patienceEach = 100 * time.Millisecond
)

// Bench is one run.
type Bench struct {
	Options
	layout

	fleet   *fleet.Fleet
	bare    *bare
	hub     *http.Client
	binary  string
	towline *towline.Towline
	maestro *maestro // nil where the works are in the hub's etcd
	agents  agents
	result  *Result

	// profiles are those that are being taken, and profileTowline takes one of Towline.
	profiles       *errgroup.Group
	profileTowline func()

	// failed takes what ends the run.
	failed chan error

	// setUIDs are those of the ApplicationSets.
	setUIDs []string

	// there are the Applications on their clusters, and changed are those whose works have changed, for their agents.
	there   []there
	changed chan int

	// came are those whose works have come, for agents that report at once.
	came chan int

	// reported counts the reports of agents.
	reported atomic.Int64

	mu    sync.Mutex
	works map[int]*manifestWork

	// omitted are the Applications that their set's report has no room for.
	omitted map[int]bool

	// created counts the works as they come.
	created atomic.Pointer[tally]

	// roundTrips, status and reports measure how long until a change is seen: of a bare client, on the hub Application,
	// and in the report of its set.
	roundTrips, status, reports *tracker

	// ends are those of Applications that somebody waits for.
	ends map[int]chan struct{}

	// number is that of the last change.
	number int
}

// A phase measures something, and leaves the hub as the next one needs it.
type phase struct {
	name string
	run  func(*Bench, context.Context) error

	// restarts is set where the phase starts Towline, and restartsAll where it starts what serves the works too.
	restarts, restartsAll bool

	// takes is how long the phase takes anyhow; nil for no time.
	takes func(*Options) time.Duration
}

var phases = []phase{
	{name: "setup", run: (*Bench).setup},
	{name: "limit", run: (*Bench).limit},
	{name: "rollout", run: (*Bench).rollout, restarts: true},
	{name: "half", run: (*Bench).half},
	{name: "backlog", run: (*Bench).backlog, restarts: true},
	{name: "convergence", run: (*Bench).convergence},
	{name: "freshness", run: (*Bench).freshness},
	{name: "sync", run: (*Bench).sync},
	{name: "storm", run: (*Bench).storm},
	{name: "idle", run: (*Bench).idle},
	{name: "restart", run: (*Bench).restart, restarts: true},
	{name: "restart-all", run: (*Bench).restartAll, restarts: true, restartsAll: true},
	{name: "hostile", run: (*Bench).hostile},
}

// phases are those of this run.
func (b *Bench) phases() []phase {
	if b.Endurance > 0 {
		return enduring
	}
	return phases
}

// Run measures everything once, on a hub that it starts and stops.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &Bench{
		Options: o, layout: layout{o.Clusters, o.Sets, o.BySet}, result: newResult(&o), works: map[int]*manifestWork{},
		omitted: map[int]bool{}, ends: map[int]chan struct{}{}, there: make([]there, o.Applications()),
		changed: make(chan int, max(1<<16, 2*o.Applications())), came: make(chan int, o.Applications()),
		failed: make(chan error, 4), roundTrips: newTracker(), status: newTracker(), reports: newTracker(),
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-b.failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	defer b.fleet.Stop()
	if err := b.watchAll(ctx); err != nil {
		return nil, err
	}
	go func() {
		if err := b.answers(ctx); ctx.Err() == nil {
			b.failed <- fmt.Errorf("agents: %w", err)
		}
	}()
	go b.tell(ctx)
	for _, p := range b.phases() {
		if err := b.measure(ctx, p); err != nil {
			return b.result, fmt.Errorf("phase %s: %w", p.name, errors.Join(err, context.Cause(ctx)))
		}
	}
	if b.Hold {
		b.say("all is measured; interrupt to end")
		if o.Done != nil {
			o.Done(b.result)
		}
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return b.result, err
		}
	}
	return b.result, nil
}

// tell says every minute how far the hub is: a large one takes long.
func (b *Bench) tell(ctx context.Context) {
	minutes := time.NewTicker(time.Minute)
	defer minutes.Stop()
	for {
		select {
		case <-minutes.C:
			b.mu.Lock()
			works := len(b.works)
			b.mu.Unlock()
			b.say("%d works delivered, %d Applications shown by the hub", works, b.status.shown())
		case <-ctx.Done():
			return
		}
	}
}

// start brings up the hub's control plane and puts Towline's own objects there.
func (b *Bench) start(ctx context.Context) error {
	env := b.envs()
	delete(env, processTowline)
	delete(env, processMaestro)
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: b.Dir, HubControlPlaneOnly: true, Transport: b.Transport, PgBouncer: b.PgBouncer,
		MaestroServers: b.MaestroServers, ExtraEnv: env, Progress: b.Progress,
	})
	if err != nil {
		return err
	}
	b.fleet = f
	err = func() error {
		if b.bare, err = newBare(f.Hub.RESTConfig()); err != nil {
			return err
		}
		if b.hub, err = rest.HTTPClientFor(f.Hub.RESTConfig()); err != nil {
			return err
		}
		if b.binary, err = towline.Build(ctx, f); err != nil {
			return err
		}
		if b.agents, err = b.reach(ctx); err != nil {
			return err
		}
		if err := towline.Apply(ctx, f, &f.Hub.ControlPlane, "deploy/install.yaml"); err != nil {
			return err
		}
		if b.Transport != fleet.TransportMaestro {
			return nil
		}
		return b.startMaestro(ctx)
	}()
	if err != nil {
		f.Stop()
	}
	return err
}

// measure runs one phase, and notes what every process and the API server had to do for it.
func (b *Bench) measure(ctx context.Context, p phase) error {
	b.say("%s", p.name)
	patience := b.patience()
	if p.takes != nil {
		patience += p.takes(&b.Options)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %s", patience))
	defer cancel()
	before, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	profiled := b.profileCPU(ctx, p)
	if err := p.run(b, ctx); err != nil {
		return err
	}
	after, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	b.result.note(p.name, before, after)
	return errors.Join(profiled(), b.profileHeap(ctx, p.name))
}

// startTowline runs the program, and returns when it is ready.
func (b *Bench) startTowline(ctx context.Context) (err error) {
	b.towline, err = b.replica(ctx, fmt.Sprintf("towline-%d", time.Now().UnixMilli()))
	if err == nil && b.profileTowline != nil {
		b.profileTowline()
	}
	return err
}

// replica runs the program under a name, and returns it when it is ready.
func (b *Bench) replica(ctx context.Context, name string) (*towline.Towline, error) {
	return towline.Start(ctx, b.fleet, towline.Options{
		Binary: b.binary, Name: name, Env: b.env(processTowline), Profiles: b.Profiles != "" || b.Endurance > 0, ReadyTimeout: b.patience(),
		Args: append([]string{"--metrics-secure=false"}, b.Args...),
	})
}

func (b *Bench) stopTowline() {
	b.towline.Stop()
	b.towline = nil
}

func (b *Bench) say(format string, args ...any) {
	fmt.Fprintf(b.Progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
