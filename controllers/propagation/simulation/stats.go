package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// stats count what a world has seen.
type stats struct {
	verbs  map[string]int
	faults map[Fault]int
	states map[uint64]struct{}
}

func newStats() *stats {
	return &stats{verbs: map[string]int{}, faults: map[Fault]int{}, states: map[uint64]struct{}{}}
}

// add puts the counts of another to these.
func (s *stats) add(o *stats) {
	for v, n := range o.verbs {
		s.verbs[v] += n
	}
	for f, n := range o.faults {
		s.faults[f] += n
	}
	maps.Copy(s.states, o.states)
}

func (s *stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d distinct states\nusers:", len(s.states))
	for _, v := range slices.Sorted(maps.Keys(s.verbs)) {
		fmt.Fprintf(&b, " %s %d", v, s.verbs[v])
	}
	b.WriteString("\nfaults:")
	for _, f := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, " %s %d", f, s.faults[f])
	}
	return b.String()
}

// state is a digest of what the hub and the clusters have, but for versions and times: two worlds of the same state differ
// in nothing that a controller could go by for long.
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
		for _, name := range slices.Sorted(maps.Keys(c.applied)) {
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
	for _, name := range slices.Sorted(maps.Keys(i.GetAnnotations())) {
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
		d.add(string(o.Spec.Workload.Manifests[0].Raw))
		d.flag(o.Spec.DeleteOption != nil)
		for _, c := range o.Status.Conditions {
			d.add(c.Type, string(c.Status))
			d.flag(c.ObservedGeneration == o.Generation)
		}
	}
}

// digest is FNV-1a.
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
