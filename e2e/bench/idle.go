package bench

import (
	"context"
	"errors"
	"time"
)

// calm is the maximum wait until no work asks for volatile values.
const calm = 30 * time.Second

// idle measures a hub without changes, while every cluster regularly compares its Applications without a new result.
func (b *Bench) idle(ctx context.Context) error {
	if b.Idle == 0 {
		return nil
	}
	for until := time.Now().Add(calm); b.asking() > 0 && time.Now().Before(until) && ctx.Err() == nil; {
		time.Sleep(time.Second)
	}
	if n := b.asking(); n > 0 {
		b.say("%d works ask for what changes with every comparison", n)
	}
	before, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	resting, cancel := context.WithTimeout(ctx, b.Idle)
	defer cancel()
	compared, err := b.compareAll(resting)
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	after, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	d := after.since(before)
	b.result.set("idle.writes", d.requests.of("", writing...))
	b.result.set("idle.comparisons", float64(compared))
	b.result.set("idle.lists", d.requests.of("", listing...))
	b.result.set("idle.cpu", d.cpu["towline"]/d.seconds()*100)
	b.result.processes("idle.memory.", after.memory)
	return b.memory("memory.idle")
}

// restart stops Towline, and starts Towline on a converged hub.
func (b *Bench) restart(ctx context.Context) error {
	b.stopTowline()
	s, err := b.measureStart(ctx, b.startTowline)
	if err != nil {
		return err
	}
	b.result.set("restart.writes", s.writes)
	b.result.set("restart.ready", s.ready.Seconds())
	b.result.set("restart.settled", s.settled.Seconds())
	b.result.set("restart.cpu", s.cpu)
	peak, err := b.resident("VmHWM")
	if err != nil {
		return err
	}
	b.result.set("memory.restart_peak", peak)
	return b.memory("memory.restart")
}

// restartAll also stops the server of Maestro's works, and starts the server and Towline.
func (b *Bench) restartAll(ctx context.Context) error {
	if b.maestro == nil {
		return nil
	}
	b.stopTowline()
	works := b.stopWorks()
	s, err := b.measureStart(ctx, func(ctx context.Context) error {
		began := time.Now()
		if err := b.startWorks(ctx, works); err != nil {
			return err
		}
		b.result.set("restart.works", time.Since(began).Seconds())
		return b.startTowline(ctx)
	})
	if err != nil {
		return err
	}
	b.result.set("restart.all_ready", s.ready.Seconds())
	b.result.set("restart.all_writes", s.writes)
	return nil
}

// measuredStart is the cost of a start.
type measuredStart struct {
	// ready and settled are the times from the start until Towline was ready, and until Towline had reconciled all
	// objects.
	ready, settled time.Duration

	// writes are the writes at the API server until settled, and cpu is Towline's CPU time in seconds.
	writes, cpu float64
}

// measureStart measures a start. The function start must return when Towline is ready.
func (b *Bench) measureStart(ctx context.Context, start func(context.Context) error) (*measuredStart, error) {
	before, err := b.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := start(ctx); err != nil {
		return nil, err
	}
	s := &measuredStart{ready: time.Since(began)}
	if err := b.settle(ctx); err != nil {
		return nil, err
	}
	s.settled = time.Since(began)
	after, err := b.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	s.writes, s.cpu = after.since(before).requests.of("", writing...), after.cpu[processTowline]
	return s, nil
}

// memory records Towline's memory, and the memory for each Application.
func (b *Bench) memory(name string) error {
	resident, err := b.resident("VmRSS")
	if err != nil {
		return err
	}
	b.result.set(name, resident)
	b.result.set(name+"_each", (resident-b.result.Figures["memory.empty"])*1024/float64(b.applications()))
	return nil
}
