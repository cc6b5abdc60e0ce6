package bench

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/scrape"
)

// snapshot is what can be read of the processes at one moment.
type snapshot struct {
	at, until         time.Time
	requests, written counts

	// cpu is the time that each process has used, in seconds.
	cpu map[string]float64

	// memory is what each process takes, in MiB.
	memory map[string]float64

	// storage is what etcd's file takes, in bytes.
	storage float64
}

func (b *Bench) snapshot(ctx context.Context) (*snapshot, error) {
	hub, err := scrape.Metrics(ctx, b.hub, b.fleet.Hub.Server()+"/metrics")
	if err != nil {
		return nil, err
	}
	requests, written := families{hub}.requests(), families{hub}.written()
	if b.maestro != nil {
		// What the hub's API server passes on, it does not count.
		works, err := scrape.Metrics(ctx, b.maestro.client, b.maestro.url+"/metrics")
		if err != nil {
			return nil, err
		}
		requests.add(families{works}.requests())
		written.add(families{works}.written())
	}
	s := &snapshot{
		at: time.Now(), requests: requests, written: written, cpu: map[string]float64{}, memory: map[string]float64{},
		storage: hub.Sum("apiserver_storage_size_bytes"),
	}
	pids, err := b.pids(ctx)
	if err != nil {
		return nil, err
	}
	for name, pid := range pids {
		cpu, memory, err := consumed(name, pid)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "maestro-") {
			name = "maestro" // all of its servers
		}
		s.cpu[name] += cpu
		s.memory[name] += memory
	}
	s.cpu[everything], err = machineSeconds()
	return s, err
}

// everything is the name under which the time of all processes of the machine is noted, others' included.
const everything = "machine"

// pids are those of the processes that take part, this one included.
func (b *Bench) pids(ctx context.Context) (map[string]int, error) {
	status, err := b.fleet.Status(ctx)
	if err != nil {
		return nil, err
	}
	pids := map[string]int{"benchmark": os.Getpid()}
	for _, plane := range status.Planes {
		for _, p := range plane.Processes {
			pids[p.Name] = p.PID
		}
	}
	if b.towline != nil {
		pids[processTowline] = b.towline.PID()
	}
	if b.maestro != nil {
		pids[processMaestro] = b.maestro.PID()
	}
	return pids, nil
}

// metrics are Towline's own.
func (b *Bench) metrics(ctx context.Context) (scrape.Families, error) {
	return scrape.Metrics(ctx, http.DefaultClient, b.towline.Metrics+"/metrics")
}

// busy is what must stand still for Towline to have nothing to do.
type busy struct{ depth, active, reconciles float64 }

// settle waits until Towline has nothing to do and has begun nothing for some seconds.
func (b *Bench) settle(ctx context.Context) error {
	const calm = 3 * time.Second
	var last busy
	since := time.Now()
	return wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		m, err := b.metrics(ctx)
		if err != nil {
			return false, err
		}
		now := busy{
			depth: m.Sum("workqueue_depth"), active: m.Sum("controller_runtime_active_workers"),
			reconciles: m.Sum("controller_runtime_reconcile_total"),
		}
		if now != last || now.depth > 0 || now.active > 0 {
			last, since = now, time.Now()
		}
		return time.Since(since) > calm, nil
	})
}

// resident is Towline's memory in MiB: VmRSS now, or VmHWM at most.
func (b *Bench) resident(line string) (float64, error) {
	return memoryMiB(b.towline.PID(), "status", line)
}

// since is what happened between two snapshots. A process that was started in between counts from its start.
func (s *snapshot) since(before *snapshot) *snapshot {
	d := &snapshot{
		at: before.at, until: s.at, requests: s.requests.since(before.requests), written: s.written.since(before.written),
		cpu: map[string]float64{}, memory: s.memory, storage: s.storage - before.storage,
	}
	for name, used := range s.cpu {
		d.cpu[name] = used - before.cpu[name]
		if d.cpu[name] < 0 {
			d.cpu[name] = used
		}
	}
	return d
}

// seconds is how long a difference of two snapshots lasted.
func (s *snapshot) seconds() float64 { return s.until.Sub(s.at).Seconds() }

// used is the CPU time that Towline has used since it was started, in seconds.
func (b *Bench) used() (float64, error) { return cpuSeconds(b.towline.PID()) }

// usedEach notes what Towline has used since before, in milliseconds for each of n Applications.
func (b *Bench) usedEach(name string, before float64, n int) error {
	now, err := b.used()
	b.result.set(name, (now-before)*1000/float64(n))
	return err
}
