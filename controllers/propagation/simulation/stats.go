package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/gate"
)

// stats count the events in worlds.
type stats struct {
	verbs  map[string]int
	faults map[Fault]int
	states map[uint64]struct{}

	// intents count the decided intents. held counts for each gate how often the gate blocked, and opened how often the
	// gate then opened.
	intents, held, opened map[string]int

	// schedules, steps and plans count the runs of each.
	schedules, steps, plans int
}

// holding is a gate that blocks an Application or a work of the Application.
type holding struct {
	app        key
	gate, work string
}

func newStats() *stats {
	return &stats{
		verbs: map[string]int{}, faults: map[Fault]int{}, states: map[uint64]struct{}{},
		intents: map[string]int{}, held: map[string]int{}, opened: map[string]int{},
	}
}

// gates are the names of all gates. isCheck are the gates that are checks.
var gates, isCheck = func() (names []string, isCheck map[string]bool) {
	isCheck = map[string]bool{}
	for _, g := range delivery.Gates() {
		names = append(names, g.Name)
		isCheck[g.Name] = len(g.Holds) > 0
	}
	return names, isCheck
}()

// decided notes a plan. A check has opened when the check passes. A step or a notice has also opened when a complete plan comes
// without the step or the notice.
func (w *World) decided(app key, p *delivery.Plan) {
	w.stats.intents[string(p.Intent)]++
	w.stats.plans++
	if w.options.planned != nil {
		w.options.planned(app, p)
	}
	if w.options.Plans {
		w.plans.plan(app, p)
	}
	for _, a := range p.Trace {
		h := holding{app, a.Gate, a.Work}
		switch holds := w.holding[h]; {
		case a.Words != "" && !holds:
			w.stats.held[a.Gate]++
			if w.holding == nil {
				w.holding = map[holding]bool{}
			}
			w.holding[h] = true
		case a.Words == "" && holds:
			w.stats.opened[a.Gate]++
			delete(w.holding, h)
		}
	}
	for h := range w.holding {
		traced := func(a gate.TraceEntry) bool { return a.Gate == h.gate && a.Work == h.work }
		if h.app == app && p.Required == 0 && !isCheck[h.gate] && !slices.ContainsFunc(p.Trace, traced) {
			w.stats.opened[h.gate]++
			delete(w.holding, h)
		}
	}
}

// ran counts a schedule.
func (s *stats) ran(w *World) {
	s.schedules++
	s.steps += w.steps
}

// add adds the counts of o.
func (s *stats) add(o *stats) {
	s.schedules += o.schedules
	s.steps += o.steps
	s.plans += o.plans
	for v, n := range o.verbs {
		s.verbs[v] += n
	}
	for f, n := range o.faults {
		s.faults[f] += n
	}
	maps.Copy(s.states, o.states)
	for _, c := range []struct{ to, from map[string]int }{{s.intents, o.intents}, {s.held, o.held}, {s.opened, o.opened}} {
		for name, n := range c.from {
			c.to[name] += n
		}
	}
}

func (s *stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d schedules of %d steps, %d plans, %d distinct states\nusers:", s.schedules, s.steps, s.plans, len(s.states))
	for _, v := range sortedNames(s.verbs) {
		fmt.Fprintf(&b, " %s %d", v, s.verbs[v])
	}
	b.WriteString("\nfaults:")
	for _, f := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, " %s %d", f, s.faults[f])
	}
	b.WriteString("\nintents:")
	for _, i := range sortedNames(s.intents) {
		fmt.Fprintf(&b, " %s %d", cmp.Or(i, "await"), s.intents[i])
	}
	b.WriteString("\ngates, held and opened:")
	for _, g := range gates {
		fmt.Fprintf(&b, "\n  %-22s %8d %8d", g, s.held[g], s.opened[g])
	}
	return b.String()
}

// state returns a digest of the objects on the hub and the clusters, without versions and times. Two worlds with the
// same state have no difference that a controller could depend on for long.
func (w *World) state() uint64 {
	d := digest(14695981039346656037)
	for k := range w.hub.objects {
		for _, at := range sortedKeys(w.hub.objects[k]) {
			d.add(at.Namespace, at.Name)
			d.object(w.hub.objects[k][at])
		}
	}
	for _, c := range w.clusters {
		d.add(c.name, fmt.Sprint(c.connected, c.failing, len(c.news), len(c.todo)))
		for _, at := range sortedKeys(c.apps) {
			a := c.apps[at]
			d.add(at.Namespace, at.Name, a.spec["source"], a.health, a.operation)
			d.add(a.finalizers...)
			d.add(a.owners...)
			d.flag(a.deleting, a.state.runs(), c.deployed[at] != nil)
		}
		for _, name := range sortedNames(c.applied) {
			d.add(name)
			d.flag(c.applied[name].deleting, c.applied[name].evicts.IsZero())
		}
	}
	for _, p := range w.processes {
		d.flag(p.leads)
		for s := range kinds + 1 {
			d.flag(p.behind(stream(s)))
		}
	}
	return uint64(d)
}

func (d *digest) object(i *item) {
	d.add(i.GetFinalizers()...)
	d.flag(i.GetDeletionTimestamp() != nil)
	for _, name := range sortedNames(i.GetAnnotations()) {
		d.add(name, i.GetAnnotations()[name])
	}
	switch o := i.Object.(type) {
	case *argocd.Application:
		d.add(o.Labels[apis.LabelPull], string(o.Spec.Raw), o.Status.Health.Status)
		d.flag(o.Operation != nil)
		for _, c := range o.Status.Conditions {
			d.add(c.Type)
		}
	case *workv1.ManifestWork:
		d.add(string(applicationIn(o)))
		d.flag(len(o.Spec.Workload.Manifests) > 1)
		d.flag(o.Spec.DeleteOption != nil)
		for _, c := range o.Status.Conditions {
			d.add(c.Type, string(c.Status))
			d.flag(c.ObservedGeneration == o.Generation)
		}
	}
}

// digest is an FNV-1a hash.
type digest uint64

func (d *digest) add(texts ...string) {
	for _, t := range texts {
		for i := range len(t) {
			*d = (*d ^ digest(t[i])) * 1099511628211
		}
		*d = (*d ^ 0xff) * 1099511628211
	}
}

func (d *digest) flag(flags ...bool) {
	for _, f := range flags {
		if f {
			d.add("t")
		} else {
			d.add("f")
		}
	}
}
