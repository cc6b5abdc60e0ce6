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

// snapshot has the measured values of the processes at a time.
type snapshot struct {
	at, until         time.Time
	requests, written counts

	// cpu is the CPU time of each process in seconds.
	cpu map[string]float64

	// memory is the memory of each process in MiB.
	memory map[string]float64

	// storage is the size of etcd's file in bytes.
	storage float64
}

func (b *Bench) snapshot(ctx context.Context) (*snapshot, error) {
	hub, err := scrape.Metrics(ctx, b.hub, b.fleet.Hub.Server()+"/metrics")
	if err != nil {
		return nil, err
	}
	requests, written := families{hub}.requests(), families{hub}.written()
	if b.maestro != nil {
		// The hub's API server does not count forwarded requests.
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
			name = "maestro" // the sum of all servers
		}
		s.cpu[name] += cpu
		s.memory[name] += memory
	}
	s.cpu[everything], err = machineSeconds()
	return s, err
}

// everything is the name for the CPU time of all processes of the machine.
const everything = "machine"

// pids returns the pids of the measured processes. The benchmark's own process is among them.
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

// metrics returns Towline's metrics.
func (b *Bench) metrics(ctx context.Context) (scrape.Families, error) {
	return scrape.Metrics(ctx, http.DefaultClient, b.towline.Metrics+"/metrics")
}

// busy has the values that stay the same while Towline has no work.
type busy struct{ depth, active, reconciles float64 }

// settle waits until Towline is idle, and has started no reconcile for some seconds.
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

// resident returns Towline's memory in MiB: VmRSS for the current value, or VmHWM for the peak.
func (b *Bench) resident(line string) (float64, error) {
	return memoryMiB(b.towline.PID(), "status", line)
}

// since returns the difference between two snapshots. The CPU time of a process started in between counts from its
// start.
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

// seconds returns the duration of a difference of two snapshots.
func (s *snapshot) seconds() float64 { return s.until.Sub(s.at).Seconds() }

// used returns Towline's CPU time since its start in seconds.
func (b *Bench) used() (float64, error) { return cpuSeconds(b.towline.PID()) }

// usedEach records Towline's CPU time since an earlier value, in milliseconds for each of n Applications.
func (b *Bench) usedEach(name string, before float64, n int) error {
	now, err := b.used()
	b.result.set(name, (now-before)*1000/float64(n))
	return err
}
