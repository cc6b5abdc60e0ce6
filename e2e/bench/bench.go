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

// The time limit of a phase. The slowest phase takes some 50 ms for each Application on two cores.
const (
	minPatience  = 40 * time.Minute
	patienceEach = 100 * time.Millisecond
)

// Bench is a run of the benchmark.
type Bench struct {
	Options
	layout

	fleet   *fleet.Fleet
	bare    *bare
	hub     *http.Client
	binary  string
	towline *towline.Towline
	maestro *maestro // nil if the works are in the hub's etcd
	agents  agents
	result  *Result

	// profiles are the profiles in progress. profileTowline starts a profile of Towline.
	profiles       *errgroup.Group
	profileTowline func()

	// failed receives an error that ends the run.
	failed chan error

	// setUIDs are the UIDs of the ApplicationSets.
	setUIDs []string

	// there are the Applications on their clusters. changed receives the Applications with changed works, for their
	// agents.
	there   []there
	changed chan int

	// came receives the Applications with new works, for agents that report at once.
	came chan int

	// reported counts the agents' reports.
	reported atomic.Int64

	mu    sync.Mutex
	works map[int]*manifestWork

	// omitted are the Applications without a row in their set's report, because the report is full.
	omitted map[int]bool

	// created counts the new works.
	created atomic.Pointer[tally]

	// roundTrips, status and reports measure the delay of a change: until the bare client's watch, the hub Application,
	// or the set's report shows it.
	roundTrips, status, reports *tracker

	// ends has a channel for each Application whose deletion is awaited.
	ends map[int]chan struct{}

	// number is the number of the last change.
	number int
}

// A phase measures a part of the run, and leaves the hub ready for the next phase.
type phase struct {
	name string
	run  func(*Bench, context.Context) error

	// restarts is true if the phase starts Towline. restartsAll is true if the phase also starts the server of the
	// works.
	restarts, restartsAll bool

	// takes returns the planned duration of the phase. It may be nil for none.
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

// phases returns the phases of this run.
func (b *Bench) phases() []phase {
	if b.Endurance > 0 {
		return enduring
	}
	return phases
}

// Run runs all phases once, on a hub that Run starts and stops.
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

// tell prints the progress every minute, because a large hub takes long.
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

// start starts the hub's control plane and applies Towline's manifests.
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

// measure runs a phase, and records what each process and the API server did in the phase.
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

// startTowline starts Towline, and returns when Towline is ready.
func (b *Bench) startTowline(ctx context.Context) (err error) {
	b.towline, err = b.replica(ctx, fmt.Sprintf("towline-%d", time.Now().UnixMilli()))
	if err == nil && b.profileTowline != nil {
		b.profileTowline()
	}
	return err
}

// replica starts Towline under a name, and returns when Towline is ready.
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
