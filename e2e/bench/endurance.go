package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/towline-io/towline/e2e/growth"
	"github.com/towline-io/towline/e2e/scrape"
	"github.com/towline-io/towline/e2e/towline"
)

const (
	// shownWithin is the time limit until the hub's Application and the report show a change.
	shownWithin = time.Minute

	// sampling is the interval of the samples, and samplesLeast the minimum number of samples after the warm-up.
	sampling     = time.Minute
	samplesLeast = growth.Enough + 1
)

// The roles of the replicas, and the name of the series of the API server's open watches.
const (
	leader  = "leader"
	standby = "standby"
	watches = "watches"
)

// enduring are the phases of a long run. Half of the Applications exist when Towline starts.
var enduring = slices.Concat(phases[:slices.IndexFunc(phases, func(p phase) bool { return p.name == "half" })], []phase{
	{name: "backlog", run: (*Bench).backlog, restarts: true},
	{name: "convergence", run: (*Bench).convergence},
	{name: "endurance", run: (*Bench).endure, takes: func(o *Options) time.Duration { return o.Endurance }},
})

// A kind is a kind of change of an Application. The hub shows a change when its Application and its row have the
// revision of the change's number.
type kind struct {
	name string
	do   func(b *Bench, ctx context.Context, app, number int) error
}

// kinds are all kinds of changes. Each Application has them in turn.
var kinds = []kind{
	{"report", func(b *Bench, ctx context.Context, app, number int) error {
		return b.write(ctx, app, number, (*there).changes)
	}},
	{"change", (*Bench).respecify},
	{"operation", (*Bench).operate},
	{"deletion", (*Bench).makeAgain},
}

// respecify changes the spec of an Application on the hub. The cluster then syncs to the new spec.
func (b *Bench) respecify(ctx context.Context, app, number int) error {
	return b.bare.patch(ctx, b.pathOf(app), object{"spec": object{"source": object{"targetRevision": revision(number)}}})
}

// operate requests a sync on the hub.
func (b *Bench) operate(ctx context.Context, app, number int) error {
	return b.bare.patch(ctx, b.pathOf(app), object{"operation": object{
		"initiatedBy": object{"username": "somebody"}, "sync": object{"revision": revision(number)},
	}})
}

// makeAgain deletes an Application, and creates the Application again after its end.
func (b *Bench) makeAgain(ctx context.Context, app, number int) error {
	gone := b.waitForEnd(app)
	if err := b.bare.remove(ctx, b.pathOf(app)); err != nil {
		return err
	}
	select {
	case <-gone:
	case <-ctx.Done():
		return fmt.Errorf("it is not gone: %w", context.Cause(ctx))
	}
	again := b.application(app, b.setUIDs[b.set(app)])
	again["spec"].(object)["source"].(object)["targetRevision"] = revision(number)
	return b.bare.create(ctx, applicationsPath, again)
}

func (b *Bench) pathOf(app int) string { return applicationsPath + "/" + b.name(app) }

// waitForEnd returns a channel that is closed after the deletion of the Application.
func (b *Bench) waitForEnd(app int) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	gone := make(chan struct{})
	b.ends[app] = gone
	return gone
}

// sawEnd closes the channel of waitForEnd for an Application.
func (b *Bench) sawEnd(app int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if gone := b.ends[app]; gone != nil {
		close(gone)
		delete(b.ends, app)
	}
}

// endure changes Applications for a long time, beside a waiting second replica. It fails if a change is not shown, or
// if a measured value grows.
func (b *Bench) endure(ctx context.Context) error {
	waits, err := b.replica(ctx, "towline-standby")
	if err != nil {
		return err
	}
	defer waits.Stop()
	made := &made{counts: map[string]int{}}
	changes, end := context.WithCancel(ctx)
	defer end()
	var samples []growth.Sample
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.changeOn(ctx, changes.Done(), made) })
	group.Go(func() (err error) {
		defer end()
		samples, err = b.sample(ctx, waits)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	b.say("changes: %v, %.2f a second", made.counts, float64(made.total())/b.Endurance.Seconds())
	b.sayDelays("the hub's status", b.status.take())
	b.sayDelays("the report", b.reports.take())
	return errors.Join(made.failed(), b.judge(samples))
}

// sayDelays prints the delays of changes at a place.
func (b *Bench) sayDelays(where string, delays []time.Duration) {
	if len(delays) > 0 {
		b.say("until %s shows one: p50 %s, p99 %s, at most %s", where, percentile(delays, 50), percentile(delays, 99), percentile(delays, 100))
	}
}

// made counts the changes by their kinds, and has the errors of changes that were not shown.
type made struct {
	mu       sync.Mutex
	counts   map[string]int
	failures []error
}

func (m *made) add(kind string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[kind]++
	if err != nil {
		m.failures = append(m.failures, err)
	}
}

func (m *made) total() (n int) {
	for _, count := range m.counts {
		n += count
	}
	return n
}

func (m *made) failed() error { return errors.Join(m.failures...) }

// changeOn changes Applications one after the other, at the rate EnduranceRate, until over is closed.
func (b *Bench) changeOn(ctx context.Context, over <-chan struct{}, made *made) error {
	return growth.Churn(ctx, b.EnduranceRate, over, func(ctx context.Context, n int) {
		app, of := n%b.applications(), kinds[(n%b.applications()+n/b.applications())%len(kinds)]
		err := b.changeOne(ctx, app, of)
		made.add(of.name, err)
		if err != nil {
			b.say("FAILED %v", err)
		}
	})
}

// changeOne makes a change, and waits until the hub's Application and the report show it.
func (b *Bench) changeOne(ctx context.Context, app int, of kind) error {
	ctx, cancel := context.WithTimeoutCause(ctx, shownWithin, fmt.Errorf("it took longer than %s", shownWithin))
	defer cancel()
	err := of.do(b, ctx, app, b.next(app, time.Now()))
	if err == nil {
		err = errors.Join(b.status.waitFor(ctx, app), b.reports.waitFor(ctx, app))
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", of.name, b.name(app), err)
	}
	return nil
}

// sample takes samples until the time is over.
func (b *Bench) sample(ctx context.Context, waits *towline.Towline) ([]growth.Sample, error) {
	return growth.Samples(ctx, sampling, time.Now().Add(b.Endurance), b.say, func(ctx context.Context, into map[string]float64) error {
		return errors.Join(b.expectRole(ctx, b.towline, true), b.expectRole(ctx, waits, false),
			growth.Process(ctx, into, leader, b.towline.Metrics, b.towline.Profiles),
			growth.Process(ctx, into, standby, waits.Metrics, waits.Profiles), b.measureHub(ctx, into))
	})
}

// expectRole fails if a replica has gained or lost the lead.
func (b *Bench) expectRole(ctx context.Context, t *towline.Towline, leads bool) error {
	of, err := scrape.Metrics(ctx, http.DefaultClient, t.Metrics+"/metrics")
	if err != nil {
		return err
	}
	if is := of.Sum("leader_election_master_status") == 1; is != leads {
		return fmt.Errorf("the replica at %s: leads %t, want %t", t.Metrics, is, leads)
	}
	return nil
}

// measureHub samples the hub's API server and etcd.
func (b *Bench) measureHub(ctx context.Context, into map[string]float64) error {
	served, err := scrape.Metrics(ctx, b.hub, b.fleet.Hub.Server()+"/metrics")
	if err != nil {
		return err
	}
	into[watches] = 0
	for _, m := range served["apiserver_longrunning_requests"].GetMetric() {
		if labelsOf(m)["verb"] == "WATCH" {
			into[watches] += scrape.Value(m)
		}
	}
	return growth.Store(ctx, into, b.fleet.Hub.EtcdAddress(), served)
}

// judge fails if a value has grown by more than its bound.
func (b *Bench) judge(samples []growth.Sample) error {
	bounds := growth.Bounds(leader, standby)
	bounds[watches] = growth.Watches
	return growth.Judge(samples, b.EnduranceWarmUp, bounds, b.say)
}
