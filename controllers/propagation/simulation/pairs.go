package simulation

import (
	"slices"
)

// Pairs are all schedules with a new, delivered Application and two verbs of users. The second verb comes at every
// point of the way to rest after the first verb. There are two ways: controllers faster than clusters, and controllers
// slower than clusters.
type Pairs struct {
	*Profile
}

// All returns the pairs to run, each for all points of the second verb.
func (p Pairs) All() []Pair {
	var verbs []Step
	for _, op := range sortedNames(p.Users) {
		for _, what := range slices.Compact(slices.Sorted(slices.Values(p.Users[op]))) {
			s := Step{Op: op, Who: p.Apps[0], What: what}
			switch op {
			case "pause-cluster", "by-hand", "hand-finalizer", "edit-there", "unfinalize-there", "set", "accept":
				s.Who = p.Names[0]
			case "bind":
				s.Who = argoNamespace
			case "project":
				s.Who, s.What = what, ""
			case "operation":
				s.What = "r1"
			}
			verbs = append(verbs, s)
		}
	}
	for _, op := range []string{"fail", "disconnect", "restart-agent", "disable"} {
		verbs = append(verbs, Step{Op: op, Who: p.Names[0]})
	}
	var out []Pair
	for _, made := range slices.Compact(slices.Sorted(slices.Values(p.Users["create"]))) {
		for _, first := range verbs {
			for _, second := range verbs {
				for _, slow := range []bool{false, true} {
					if second.Op == "operation" && first.Op == "operation" {
						second.What = "r2"
					}
					out = append(out, Pair{p.Profile, Step{Op: "create", Who: p.Apps[0], What: made}, first, second, slow})
				}
			}
		}
	}
	return out
}

// Pair is a sequence of two verbs.
type Pair struct {
	*Profile
	made, first, second Step
	slow                bool
}

// Run runs every schedule of the pair, and calls tell for each schedule.
func (p Pair) Run(tell func([]Step, *World)) {
	p.points(func(before *generator) { p.finish(p.after(before, p.second), tell) })
}

// Interrupt runs every schedule of the pair with the second verb before a read or a write of a reconcile, and calls tell
// for each schedule. The cache shows the change at once, so the reads before and after the verb disagree.
func (p Pair) Interrupt(tell func([]Step, *World)) {
	p.points(func(before *generator) {
		before.found = before.found[:0]
		before.candidates(func() bool { return true })
		for _, s := range slices.Clone(before.found) {
			if s.Op == "reconcile" || s.Op == "status" {
				p.interrupt(before, s, tell)
			}
		}
	})
}

// interrupt runs one reconcile of propagation or of the status controller for each of its reads and writes, with the
// second verb before the read or write.
func (p Pair) interrupt(before *generator, s Step, tell func([]Step, *World)) {
	for reads := 1; s.At < reads; {
		s.At++
		s.Inner = []Step{p.second, {Op: "catch-up", Who: s.Who}}
		g := p.after(before, s)
		reads = g.w.process(s.Who).made
		p.finish(g, tell)
	}
}

// points calls each with the world at every point of the way to rest after the first verb.
func (p Pair) points(each func(before *generator)) {
	if p.stats == nil {
		p.stats = newStats()
	}
	first := &generator{Profile: p.Profile}
	first.start([]Step{p.made, {Op: "settle"}})
	first.do(p.first)
	for more := true; more; more = first.walk(1, p.slow) {
		each(first)
	}
}

// after runs a step in a copy of the world.
func (p Pair) after(before *generator, s Step) *generator {
	g := &generator{Profile: p.Profile, w: before.w.clone(), steps: slices.Clip(before.steps)}
	g.do(s)
	return g
}

// finish runs the way to rest, and calls tell.
func (p Pair) finish(g *generator, tell func([]Step, *World)) {
	g.walk(1000, p.slow)
	g.w.rest()
	g.stats.ran(g.w)
	tell(g.steps, g.w)
}

// walk makes at most n steps of the machinery. It returns false if no step is left, or after a failure.
func (g *generator) walk(n int, slow bool) bool {
	for range n {
		g.found = g.found[:0]
		g.candidates(func() bool { return true })
		if len(g.found) == 0 || g.w.failure != nil {
			return false
		}
		if slow {
			g.do(g.found[len(g.found)-1])
		} else {
			g.do(g.found[0])
		}
	}
	return true
}
