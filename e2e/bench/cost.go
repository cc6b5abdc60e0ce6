package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// workAgent is the name of the work agent's process in the fleet.
const workAgent = "work-agent"

// CostOptions are the sizes of a run with a real work agent.
type CostOptions struct {
	Options

	// Number is the number of the cluster's Applications. Rest is the duration of the phase without changes.
	Number int
	Rest   time.Duration

	// AgentArgs are further arguments of the work agent.
	AgentArgs []string

	// WorkloadStays delivers the Applications without Argo CD's finalizer.
	WorkloadStays bool
}

// agentCost measures a real work agent of OCM, on a cluster whose Argo CD does not run. The benchmark writes the
// statuses of the cluster's Applications.
type agentCost struct {
	CostOptions

	fleet        *fleet.Fleet
	hub, cluster *bare
	metrics      *http.Client
	onCluster    *http.Client // for the metrics of the cluster
	agent        int
	profiler     string // address of the agent's profiles; empty without profiles
	result       *Result
	failed       chan error
	number       int

	controller *towline.Towline // nil before its start
	kind       *cargo
	seen       *sightings
}

// Cost measures the CPU, memory and writes of a cluster's real work agent: first with ManifestWorks with the five paths
// of the older controllers, polled and watched, and then with Applications that Towline delivers.
func Cost(ctx context.Context, o CostOptions) (*Result, error) {
	profiler, env, err := o.profiler()
	if err != nil {
		return nil, err
	}
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: o.Dir, Clusters: fleet.ClusterNames(1), ArgoCD: []string{"3"}, Progress: o.Progress,
		ExtraEnv: env, ExtraArgs: map[string][]string{workAgent: o.AgentArgs},
	})
	if err != nil {
		return nil, err
	}
	defer f.Stop()
	c := &agentCost{CostOptions: o, fleet: f, profiler: profiler, failed: make(chan error, 4)}
	c.Clusters, c.Sets = 1, o.Number
	c.result = newResult(&c.Options)
	if err := c.prepare(ctx); err != nil {
		return c.result, err
	}
	return c.result, c.measureAll(ctx)
}

// prepare installs Towline, and stops the Argo CD of the cluster.
func (c *agentCost) prepare(ctx context.Context) error {
	if err := towline.Install(ctx, c.fleet); err != nil {
		return err
	}
	cluster := c.fleet.Clusters()[0]
	if err := cluster.StopProcess(ctx, "argocd"); err != nil {
		return err
	}
	var err error
	if c.hub, err = newBare(c.fleet.Hub.RESTConfig()); err != nil {
		return err
	}
	if c.cluster, err = newBare(cluster.RESTConfig()); err != nil {
		return err
	}
	if c.metrics, err = rest.HTTPClientFor(c.fleet.Hub.RESTConfig()); err != nil {
		return err
	}
	if c.onCluster, err = rest.HTTPClientFor(cluster.RESTConfig()); err != nil {
		return err
	}
	c.agent, err = c.agentPID(ctx)
	return err
}

// agentPID returns the pid of the work agent.
func (c *agentCost) agentPID(ctx context.Context) (int, error) {
	status, err := c.fleet.Status(ctx)
	if err != nil {
		return 0, err
	}
	for _, plane := range status.Planes {
		for _, p := range plane.Processes {
			if p.Name == workAgent {
				return p.PID, nil
			}
		}
	}
	return 0, fmt.Errorf("no work agent runs: %+v", status.Planes)
}

// measureAll measures the plain works before it starts Towline.
func (c *agentCost) measureAll(ctx context.Context) error {
	for _, kind := range []*cargo{c.plain(), c.watched()} {
		if err := c.measure(ctx, kind); err != nil {
			return err
		}
	}
	binary, err := towline.Build(ctx, c.fleet)
	if err != nil {
		return err
	}
	c.controller, err = towline.Start(ctx, c.fleet, towline.Options{
		Binary: binary, Name: processTowline, Args: c.Args, Profiles: c.profiler != "",
	})
	if err != nil {
		return err
	}
	defer c.controller.Stop()
	return c.measure(ctx, c.towline())
}

// measure runs each phase for a kind of delivery, with a restarted agent.
func (c *agentCost) measure(ctx context.Context, kind *cargo) error {
	cluster := c.fleet.Clusters()[0]
	if err := cluster.StopProcess(ctx, workAgent); err != nil {
		return err
	}
	if err := cluster.StartProcess(ctx, workAgent); err != nil {
		return err
	}
	var err error
	if c.agent, err = c.agentPID(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute+c.Rest)
	defer cancel()
	c.kind = kind
	if c.seen, err = c.look(ctx); err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"deliver", c.deliver}, {"first", c.first}, {"change", c.change}, {"row", c.row}, {"burst", c.burst}, {"compare", c.compare},
		{"rest", c.rest}, {"delete", c.delete},
	} {
		if err := c.phase(ctx, p.name, p.do); err != nil {
			return fmt.Errorf("%s, %s: %w", kind.name, p.name, err)
		}
	}
	return nil
}

// phase runs a phase and records its cost.
func (c *agentCost) phase(ctx context.Context, name string, do func(context.Context) error) error {
	before, err := c.take(ctx)
	if err != nil {
		return err
	}
	profiled := c.profile(ctx, name)
	if err := errors.Join(do(ctx), profiled()); err != nil {
		return err
	}
	after, err := c.take(ctx)
	if err != nil {
		return err
	}
	used, requests, there := after.agent-before.agent, after.hub.since(before.hub), after.cluster.since(before.cluster)
	c.set(name+".cpu", used)
	if c.controller != nil {
		c.set(name+".controller_cpu", after.controller-before.controller)
	}
	c.set(name+".work_writes", requests.of(worksResource, writing...))
	c.set(name+".report_writes", requests.of(worksResource+"/status", writing...))
	c.set(name+".application_writes", requests.of("applications", writing...)+requests.of("applications/status", writing...))
	c.set(name+".cluster_applications", there.of("applications"))
	c.set(name+".cluster_applied", there.of("appliedmanifestworks")+there.of("appliedmanifestworks/status"))
	c.set(name+".conflicts", requests.of(worksResource, conflict)+requests.of(worksResource+"/status", conflict))
	memory, err := memoryMiB(c.agent, "status", "VmRSS")
	c.set(name+".memory", memory)
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, "%s, %s: agent %.2f s of CPU, %.0f MiB; hub: %v; cluster: %v\n",
			c.kind.name, name, used, memory, requests, there)
	}
	return err
}

// costReading has the CPU times of the agent and of Towline in seconds, and the requests to the hub and to the cluster.
type costReading struct {
	agent, controller float64
	hub, cluster      counts
}

// take reads the CPU times and the requests so far.
func (c *agentCost) take(ctx context.Context) (out costReading, err error) {
	if out.hub, err = c.requestsTo(ctx, c.metrics, c.fleet.Hub.Server()); err != nil {
		return out, err
	}
	if out.cluster, err = c.requestsTo(ctx, c.onCluster, c.fleet.Clusters()[0].Server()); err != nil {
		return out, err
	}
	if out.agent, err = cpuSeconds(c.agent); err != nil {
		return out, err
	}
	out.controller, err = c.controllerCPU()
	return out, err
}

// controllerCPU returns the CPU time of Towline in seconds; 0 before the start of Towline.
func (c *agentCost) controllerCPU() (float64, error) {
	if c.controller == nil {
		return 0, nil
	}
	return cpuSeconds(c.controller.PID())
}

func (c *agentCost) set(name string, value float64) { c.result.set(c.kind.name+"."+name, value) }
