package simulation

import (
	"maps"
	"slices"
)

// clone returns a copy of the world. Schedules with the same beginning share the simulation of the beginning. Clones
// share immutable parts, so all clones of a world belong to one goroutine.
func (w *World) clone() *World {
	out := *w
	out.holding = copied(w.holding)
	out.follower.dropped = copied(w.follower.dropped)
	out.refusing, out.entangled = copied(w.refusing), copied(w.entangled)
	out.hub = w.hub.clone(&out)
	out.oracle = w.oracle.clone(&out)
	out.clusters = make([]*cluster, len(w.clusters))
	for i, c := range w.clusters {
		out.clusters[i] = c.clone(&out)
	}
	out.processes = make([]*process, len(w.processes))
	for i, p := range w.processes {
		out.processes[i] = p.clone(&out)
	}
	return &out
}

// copied returns a copy of a map. Most maps are empty, and maps.Clone would reserve room for eight entries.
func copied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return map[K]V{}
	}
	return maps.Clone(m)
}

func (h *hub) clone(w *World) *hub {
	out := *h
	out.world = w
	out.namespaces = copied(h.namespaces)
	for k := range h.objects {
		out.log[k] = slices.Clip(h.log[k])
		out.objects[k] = copied(h.objects[k])
	}
	return &out
}

func (o *oracle) clone(w *World) *oracle {
	out := &oracle{
		world: w, apps: make(map[key]*record, len(o.apps)), ran: copied(o.ran), late: copied(o.late), forfeited: copied(o.forfeited),
		unknown: copied(o.unknown),
		raced:   copied(o.raced), contenders: copied(o.contenders),
	}
	for at, r := range o.apps {
		known := *r
		out.apps[at] = &known
	}
	return out
}

func (c *cluster) clone(w *World) *cluster {
	out := *c
	out.world = w
	out.apps, out.deployed, out.applied = map[key]*placed{}, map[key]*workload{}, map[string]*appliedWork{}
	for at, a := range c.apps {
		b := *a
		b.annotations, b.labels, b.spec, b.managers = copied(a.annotations), copied(a.labels), copied(a.spec), copied(a.managers)
		out.apps[at] = &b
	}
	for at, l := range c.deployed {
		there := *l
		out.deployed[at] = &there
	}
	for name, a := range c.applied {
		b := *a
		out.applied[name] = &b
	}
	out.others = copied(c.others)
	out.seen, out.news = copied(c.seen), copied(c.news)
	out.todo, out.later, out.stirred = copied(c.todo), copied(c.later), copied(c.stirred)
	return &out
}
