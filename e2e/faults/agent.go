package faults

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
)

// there is the namespace on the clusters for Applications of Towline's agent. The namespace belongs to the point alone,
// and its name is the point's id.
const there = "POINT"

// here puts the point's Application into the namespace there.
var here = annotation(apis.AnnotationAppNamespace, there)

// reportings are flows with reports of Towline's agent.
func reportings() []Flow {
	reported := steps(agentStarts(), create(here), showsIn(first, there), details("Healthy"), remember(first))
	degraded := steps(turns("Degraded"), healthOnHub("Degraded"))
	left := steps(in(first, there, "gone", gone), noWork(first), noReport())
	flows := []Flow{
		{Name: "report", Steps: []Step{reported}},
		{Name: "report-change", Steps: []Step{reported, turns("Degraded"), details("Degraded")}},
		{Name: "report-changes", Steps: []Step{reported, turns("Degraded"), turns("Progressing"), details("Progressing")}},
		{Name: "report-spec", Steps: []Step{reported, patch(changed), showsIn(first, there), details("Healthy")}},
		{Name: "report-operation", Steps: []Step{reported, patch(operation), ended, details("Healthy")}},
		{Name: "report-lost", Steps: []Step{reported, losesReport(), details("Healthy")}},
		{Name: "report-delete", Steps: []Step{reported, remove(), over, left}},
		{Name: "report-change-delete", Steps: []Step{reported, turns("Degraded"), remove(), over, left}},
		{Name: "report-again", Steps: []Step{reported, remove(), over, create(here), showsIn(first, there), details("Healthy")}},
		{Name: "report-move", Steps: []Step{reported, patch(toSecond), showsIn(second, there), left, noCondition(apis.ConditionMoveWarning)}},
		{Name: "report-release", Steps: []Step{reported, patch(released), noWork(first), noReport()}},
		{Name: "report-hub-away", Steps: []Step{reported, hubAway(true), degraded, hubAway(false), details("Degraded")}},
		{Name: "report-hub-away-create", Steps: []Step{
			agentStarts(), hubAway(true), create(here), showsIn(first, there), hubAway(false), details("Healthy"),
		}},
		{Name: "report-hub-away-delete", Steps: []Step{reported, hubAway(true), degraded, remove(), over, left, hubAway(false)}},
		{Name: "report-agent-away", Steps: []Step{reported, agentStops(), degraded, agentStarts(), details("Degraded")}},
	}
	for i := range flows {
		flows[i].Agent = true
	}
	return flows
}

// A reporter is Towline's agent of a point. It runs on the first cluster, and watches a single namespace. It has its
// own proxy to the hub: a kill of the agent, or an absent hub, affects no further points.
type reporter struct {
	*fleet.Process

	proxy *Proxy

	// met is closed when the agent runs again after its kill, or when no kill is necessary any more. failed is the
	// error of the kill.
	met    chan struct{}
	failed error
}

// agentStarts starts or restarts Towline's agent.
func agentStarts() Step {
	return func(ctx context.Context, a *actor) error {
		if a.reporter != nil {
			return a.reporter.Restart(ctx)
		}
		for _, p := range a.world.planes() {
			if err := p.Create(ctx, object(namespaces, "", a.id)); err != nil {
				return err
			}
		}
		var err error
		a.reporter, err = a.gate.startReporter(ctx, a.id)
		if err == nil {
			go a.reporter.meets(ctx, a.script)
		}
		return err
	}
}

// startReporter starts Towline's agent for a point, behind a proxy with the gate's scripts.
func (g *Gate) startReporter(ctx context.Context, id string) (*reporter, error) {
	f := g.World.Fleet
	ports, err := f.FreePorts(1)
	if err != nil {
		return nil, err
	}
	p, err := NewProxy(f.Hub.RESTConfig())
	if err != nil {
		return nil, err
	}
	p.agent, p.scripts, p.watches, p.behind = true, g.Proxy.scripts, g.Proxy.watches, g.Proxy.behind
	name := "reporter-" + id
	probes, kubeconfig := fmt.Sprintf("127.0.0.1:%d", ports[0]), filepath.Join(f.Dir(), name+".yaml")
	if err := p.Kubeconfig(g.reporting, kubeconfig); err != nil {
		p.Close()
		return nil, err
	}
	process, err := f.Run(ctx, fleet.Command{
		Name: name, Path: g.binary, Env: slices.Concat(towline.AgentEnv, g.env), Ready: fleet.HTTPReady("http://" + probes + "/readyz"), Args: []string{
			"agent", "--cluster-name=" + first, "--application-namespaces=" + id, "--kubeconfig=" + f.Cluster(first).Kubeconfig(),
			"--hub-kubeconfig=" + kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=" + probes,
		},
	})
	if err != nil {
		p.Close()
		return nil, err
	}
	return &reporter{Process: process, proxy: p, met: make(chan struct{})}, nil
}

// meets kills the agent when a write waits for the kill, and starts the agent again.
func (r *reporter) meets(ctx context.Context, s *script) {
	defer close(r.met)
	if err := kill(ctx, r.Process, []*script{s}); err != nil && !wait.Interrupted(err) {
		r.failed = err
	}
}

// up reports whether the agent runs. Without an agent, up returns true.
func (r *reporter) up(s *script) bool {
	if r == nil || s.standing() != past {
		return true
	}
	select {
	case <-r.met:
		return true
	default:
		return false
	}
}

// end stops the agent of an ended point, if the point has an agent.
func (r *reporter) end() error {
	if r == nil {
		return nil
	}
	<-r.met
	r.Stop()
	r.proxy.Close()
	return r.failed
}

func agentStops() Step {
	return func(_ context.Context, a *actor) error {
		a.reporter.Stop()
		return nil
	}
}

// hubAway makes the hub unreachable for the agent, or reachable again.
func hubAway(away bool) Step {
	return func(_ context.Context, a *actor) error {
		a.reporter.proxy.cutOff(away)
		return nil
	}
}

// turns makes the cluster's Argo CD report a different health of the workload.
func turns(health string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		app := object(applications, a.id, a.id)
		app.Object["status"] = content{
			"health": content{"status": health, "lastTransitionTime": now()}, "resources": []any{resource(a.id, health)}, "reconciledAt": now(),
		}
		data, err := app.MarshalJSON()
		if err != nil {
			return err
		}
		return a.plane(first).patch(ctx, app, string(data))
	})
}

// healthOnHub waits until the hub shows a health. The work agent reports the health too.
func healthOnHub(health string) Step {
	return onHub(health, func(app *unstructured.Unstructured) bool { return text(app, "status", "health", "status") == health })
}

// details waits until the hub shows the workload with its health. Only Towline's agent reports the workload.
func details(health string) Step {
	return onHub("showing a workload that is "+health, func(app *unstructured.Unstructured) bool {
		if app == nil {
			return false
		}
		resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
		return len(resources) == 1 && text(&unstructured.Unstructured{Object: resources[0].(content)}, "health", "status") == health
	})
}

// losesReport deletes the report, and waits for a new report.
func losesReport() Step {
	return func(ctx context.Context, a *actor) error {
		before, err := a.report(ctx)
		if err != nil || before == nil {
			return errors.Join(err, errors.New("there is no report to lose"))
		}
		if err := a.world.hub.Delete(ctx, before); err != nil {
			return err
		}
		return eventually(func(ctx context.Context, a *actor) error {
			after, err := a.report(ctx)
			if err == nil && (after == nil || after.GetUID() == before.GetUID()) {
				return errors.New("there is no other report")
			}
			return err
		})(ctx, a)
	}
}

// noReport waits until the hub has no report of the point.
func noReport() Step {
	return eventually(func(ctx context.Context, a *actor) error {
		r, err := a.report(ctx)
		if err == nil && r != nil {
			return fmt.Errorf("the report %s of %s is there", r.GetName(), r.GetNamespace())
		}
		return err
	})
}

// report returns the report on the point's Application, or nil if no report exists.
func (a *actor) report(ctx context.Context) (*unstructured.Unstructured, error) {
	all, err := a.world.hub.of(ctx, appReports, a.id)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}
