package simulation

import "maps"

// clone is the world as it is, with its processes started anew: a schedule that begins with what many begin with need not
// live through it again. It is the same as a crash of all processes.
func (w *World) clone() *World {
	out := *w
	out.stats = newStats()
	out.hub = w.hub.clone(&out)
	out.oracle = w.oracle.clone(&out)
	out.clusters = make([]*cluster, len(w.clusters))
	for i, c := range w.clusters {
		out.clusters[i] = c.clone(&out)
	}
	out.processes = make([]*process, len(w.processes))
	for i, p := range w.processes {
		out.processes[i] = &process{world: &out, name: p.name, clock: p.clock, leads: p.leads}
		out.processes[i].start()
	}
	return &out
}

func (h *hub) clone(w *World) *hub {
	out := *h
	out.world = w
	out.log = [kinds][]change{}
	out.namespaces = maps.Clone(h.namespaces)
	for k := range h.objects {
		out.objects[k] = make(map[key]*item, len(h.objects[k]))
		for at, i := range h.objects[k] {
			out.objects[k][at] = &item{Object: i.Object}
		}
	}
	return &out
}

func (o *oracle) clone(w *World) *oracle {
	out := &oracle{
		world: w, apps: make(map[key]*record, len(o.apps)), ran: maps.Clone(o.ran), late: maps.Clone(o.late), forfeited: maps.Clone(o.forfeited),
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
		b.annotations, b.labels, b.spec, b.managers = maps.Clone(a.annotations), maps.Clone(a.labels), maps.Clone(a.spec), maps.Clone(a.managers)
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
	out.seen, out.news = maps.Clone(c.seen), maps.Clone(c.news)
	out.todo, out.later, out.stirred = maps.Clone(c.todo), maps.Clone(c.later), maps.Clone(c.stirred)
	return &out
}
