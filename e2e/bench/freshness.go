package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// next registers the next change of an Application at a time, and returns its number.
func (b *Bench) next(app int, at time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number = max(b.number, firstSync) + 1
	b.status.sent(app, b.number, at)
	if !b.omitted[app] {
		b.reports.sent(app, b.number, at)
	}
	return b.number
}

// anyOf returns a random Application among the first Applications of the rollout, with a reporting cluster and with a
// row in its set's report.
func (b *Bench) anyOf(first int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if app := b.turn(rand.IntN(first)); app < b.reporting()*b.Sets && !b.omitted[app] {
			return app
		}
	}
}

// freshness makes changes one at a time, and measures the delay until each change is shown, and the cost.
func (b *Bench) freshness(ctx context.Context) error {
	d, err := b.oneByOne(ctx, b.applications(), (*there).changes)
	if err != nil {
		return err
	}
	b.delays("freshness")
	b.cost(d)
	return nil
}

// half measures freshness with half of the Applications, and the memory. It is skipped without AtOnce, because no agent
// has reported yet.
func (b *Bench) half(ctx context.Context) error {
	if !b.AtOnce {
		return nil
	}
	b.status.take()
	b.reports.take()
	d, err := b.oneByOne(ctx, b.applications()/2, (*there).changes)
	if err != nil {
		return err
	}
	b.delays("half")
	b.result.processes("half.memory.", d.memory)
	return nil
}

// oneByOne makes Options.Changes changes of random Applications among the first Applications of the rollout. Each
// change has the given steps, and each step waits until it is shown. oneByOne returns the cost of all changes.
func (b *Bench) oneByOne(ctx context.Context, first int, steps ...func(*there)) (*snapshot, error) {
	before, err := b.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for range b.Changes {
		app := b.anyOf(first)
		for _, step := range steps {
			if err := b.write(ctx, app, b.next(app, time.Now()), step); err != nil {
				return nil, err
			}
			if err := errors.Join(b.status.wait(ctx), b.reports.wait(ctx)); err != nil {
				return nil, err
			}
		}
	}
	if err := b.settle(ctx); err != nil {
		return nil, err
	}
	after, err := b.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return after.since(before), nil
}

// delays records the delays of the changes since the last call.
func (b *Bench) delays(name string) {
	b.result.delays(name+".status", b.status.take())
	b.result.delays(name+".report", b.reports.take())
}

// cost records the cost of a change. The agents' own writes do not count.
func (b *Bench) cost(d *snapshot) {
	n := float64(b.Changes)
	set := b.result.set
	set("change.application_writes", d.requests.of("applications", writing...)/n)
	set("change.report_writes", d.requests.of("multiclusterapplicationsetreports", writing...)/n)
	set("change.other_writes", (d.requests.of("", writing...)-d.requests.of("manifestworks/status", writing...)-
		d.requests.of("applications", writing...)-d.requests.of("multiclusterapplicationsetreports", writing...))/n)
	set("change.lists", d.requests.of("", listing...)/n)
	set("change.reads", d.requests.of("", reading...)/n)
	set("change.application_bytes", d.written.of("applications")/n)
	set("change.report_bytes", d.written.of("multiclusterapplicationsetreports")/n)
	set("change.cpu", d.cpu["towline"]/n*1000)
	set("change.hub_cpu", (d.cpu["kube-apiserver"]+d.cpu["etcd"])/n*1000)
	each, all := map[string]float64{}, 0.0
	for _, process := range hubProcesses {
		if used, ok := d.cpu[process]; ok {
			each[process] = used / n * 1000
			all += each[process]
		}
	}
	b.result.processes("change.cpu.", each)
	set("change.cpu_all", all)
}

// sync plays syncs by clusters, one at a time, and measures their cost. After a sync, the hub asks for the time of the
// next comparison, because other tools wait for it.
func (b *Bench) sync(ctx context.Context) error {
	reported := b.reported.Load()
	d, err := b.oneByOne(ctx, b.applications(), (*there).starts, (*there).finishes)
	if err != nil {
		return err
	}
	b.status.take()
	b.reports.take()
	n := float64(b.Changes)
	b.result.set("sync.application_writes", d.requests.of("applications", writing...)/n)
	conflicts := d.requests.of("manifestworks", conflict)
	b.result.set("sync.work_writes", (d.requests.of("manifestworks", writing...)-conflicts)/n)
	b.result.set("sync.work_conflicts", conflicts/n)
	b.result.set("sync.agent_writes", float64(b.reported.Load()-reported)/n)
	b.result.set("sync.report_writes", d.requests.of("multiclusterapplicationsetreports", writing...)/n)
	return nil
}

// storm makes many changes a second, from independent agents, and measures the delay until each change is shown.
func (b *Bench) storm(ctx context.Context) error {
	if b.Storm == 0 {
		return nil
	}
	before, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	made, err := b.changes(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	if err := errors.Join(b.status.wait(ctx), b.reports.wait(ctx)); err != nil {
		return err
	}
	after, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	d := after.since(before)
	b.result.set("storm.rate", float64(made)/took)
	b.result.set("storm.application_writes", d.requests.of("applications", writing...)/float64(made))
	b.result.set("storm.report_bytes", d.written.of("multiclusterapplicationsetreports")/d.seconds()/(1<<20))
	b.result.set("storm.report_bytes_per_set", d.written.of("multiclusterapplicationsetreports")/d.seconds()/(1<<20)/float64(b.Sets))
	b.delays("storm")
	return b.settle(ctx)
}

// changes makes changes at the rate of the storm, cluster by cluster in random order, and returns their number. If a
// slow API server delays a change, its delay still counts from the planned time.
func (b *Bench) changes(ctx context.Context) (int, error) {
	n := int(b.stormRate() * b.Storm.Seconds())
	apps := make([]int, 0, n+b.Sets)
	for clusters := rand.Perm(b.reporting()); len(apps) < n; clusters = clusters[1:] {
		if len(clusters) == 0 {
			clusters = rand.Perm(b.reporting())
		}
		for set := range b.Sets {
			apps = append(apps, clusters[0]*b.Sets+set)
		}
	}
	began := time.Now()
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for i := 0; i < n; {
			due := int(time.Since(began).Seconds() * b.stormRate())
			for ; i < min(n, due); i++ {
				select {
				case numbers <- i:
				case <-ctx.Done():
					return
				}
			}
			<-pace.C
		}
	}()
	return n, each(ctx, n, b.Agents, func(ctx context.Context, _ int) error {
		i, ok := <-numbers
		if !ok {
			return ctx.Err()
		}
		return b.changeNext(ctx, apps[i], began.Add(time.Duration(float64(i)/b.stormRate()*float64(time.Second))))
	})
}

// changeNext makes the next change. Its delay counts from the planned time.
func (b *Bench) changeNext(ctx context.Context, app int, due time.Time) error {
	number := b.next(app, due)
	return b.write(ctx, app, number, (*there).changes)
}
