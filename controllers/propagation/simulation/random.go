package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Profile describes the possible events of a random schedule. A Profile is for one goroutine.
type Profile struct {
	Options

	// Apps are the Applications. Verbs is the maximum number of user steps.
	Apps  []string
	Verbs int

	// Users are the verbs by name, with the possible values.
	Users map[string][]string

	// Mishaps are the failures among the steps, and Faults are the faults of writes; empty for none.
	Mishaps []string
	Faults  []Fault

	// Waits are the durations of occasional pauses; nil for a default choice.
	Waits []string

	// States is set to count the states of the world during the schedules.
	States bool

	// Gap is the maximum number of machinery steps between two user steps.
	Gap int

	// stats count the events of the schedules.
	stats *stats

	// verbs are the names in Users.
	verbs []string

	// bases are the starting worlds of schedules, by script.
	bases map[string]*World
}

// Run runs the schedule of a seed. It returns the steps and the final world.
func (p *Profile) Run(seed uint64) ([]Step, *World) {
	if p.stats == nil {
		p.stats = newStats()
	}
	g := &generator{Profile: p, r: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // it has to be the same again
	g.begin()
	for range 1 + g.r.IntN(p.Verbs) {
		g.do(g.verb())
		if g.r.IntN(4) == 0 {
			g.do(Step{Op: "settle"})
			continue
		}
		for range g.r.IntN(p.Gap) {
			g.machine()
		}
		if p.States {
			g.w.stats.states[g.w.state()] = struct{}{}
		}
	}
	g.w.rest()
	g.stats.ran(g.w)
	return g.steps, g.w
}

// begin creates the Applications, and in most cases lets them be delivered. Schedules with the same beginning share the
// simulated beginning.
func (g *generator) begin() {
	var first []Step
	for _, app := range g.Apps {
		first = append(first, Step{Op: "create", Who: app, What: g.pick(g.Users["create"])})
	}
	if g.r.IntN(8) == 0 {
		g.w = New(g.Options)
		g.w.stats = g.stats
		for _, s := range first {
			g.do(s)
		}
		return
	}
	first = append(first, Step{Op: "settle"})
	if g.r.IntN(3) == 0 {
		first = append(first, g.verb(), Step{Op: "settle"})
	}
	g.start(first)
}

// start sets the world to the state after the given steps.
func (g *generator) start(first []Step) {
	g.w = g.base(first).clone()
	g.w.stats = g.stats
	g.steps = first
}

// base returns the world after the given steps, for schedules to continue from. The computation starts from the base at
// the last "settle" before.
func (g *generator) base(steps []Step) *World {
	text := Script(steps)
	if known := g.bases[text]; known != nil {
		return known
	}
	var w *World
	left := steps
	if i := lastSettled(steps[:len(steps)-1]); i >= 0 {
		w, left = g.base(steps[:i+1]).clone(), steps[i+1:]
	} else {
		w = New(g.Options)
	}
	w.stats = g.stats
	for i := range left {
		s := left[i]
		w.do(&s)
	}
	if g.bases == nil {
		g.bases = map[string]*World{}
	}
	g.bases[text] = w
	return w
}

// lastSettled returns the index of the last "settle" in steps; -1 for none.
func lastSettled(steps []Step) int {
	for i, s := range slices.Backward(steps) {
		if s.Op == "settle" {
			return i
		}
	}
	return -1
}

// Replay runs the given steps unchanged.
func Replay(o Options, steps []Step) *World {
	w := New(o)
	for i := range steps {
		s := steps[i]
		w.do(&s)
	}
	w.rest()
	return w
}

type generator struct {
	*Profile
	w     *World
	r     *rand.Rand
	steps []Step
	found []Step
	asked int
}

func (g *generator) do(s Step) {
	if g.w.failure != nil {
		return
	}
	g.steps = append(g.steps, s)
	g.w.do(&s)
}

func (g *generator) pick(from []string) string {
	if len(from) == 0 {
		return ""
	}
	return from[g.r.IntN(len(from))]
}

// verb returns a random step of a user.
func (g *generator) verb() Step {
	if g.verbs == nil {
		g.verbs = sortedNames(g.Users)
	}
	op := g.verbs[g.r.IntN(len(g.verbs))]
	who := g.pick(g.Apps)
	switch op {
	case "pause-cluster", "by-hand", "edit-there", "unfinalize-there", "set", "accept", "squat", "no-namespace", "dependencies", "drop":
		who = g.pick(g.Names)
	case "disconnect", "connect", "fail", "mend":
		return Step{Op: op, Who: g.pick(g.Names)}
	case "bind":
		who = argoNamespace
	case "project", "wait", "unfollow", "set-controller":
		return Step{Op: op, Who: g.pick(g.Users[op])}
	case "pause-set":
		who = argoNamespace
	}
	s := Step{Op: op, Who: who, What: g.pick(g.Users[op])}
	if op == "operation" && s.What == "" {
		g.asked++
		s.What = fmt.Sprintf("r%d", g.asked)
	}
	return s
}

// machine runs a random step of controllers and agents, and sometimes a mishap.
func (g *generator) machine() {
	if len(g.Mishaps) > 0 && g.r.IntN(14) == 0 {
		g.do(g.mishap())
		return
	}
	if g.r.IntN(16) == 0 {
		waits := g.Waits
		if waits == nil {
			waits = []string{"1s", "6s", "70s", "6m"}
		}
		g.do(Step{Op: "wait", Who: g.pick(waits)})
		return
	}
	g.found = g.found[:0]
	g.candidates(func() bool { return g.r.IntN(2) == 0 })
	if len(g.found) == 0 {
		return
	}
	g.do(g.disturbed(g.found[g.r.IntN(len(g.found))]))
}

func (g *generator) mishap() Step {
	s := Step{Op: g.pick(g.Mishaps)}
	switch s.Op {
	case "crash", "relist", "lead", "lead-too", "skew":
		s.Who = g.pick([]string{"a", "b"})
	default:
		s.Who = g.pick(g.Names)
	}
	return s
}

// candidates collects the steps that are possible now. ends decides whether a running operation ends.
func (g *generator) candidates(ends func() bool) {
	if g.w.unplaced() {
		g.can("place", "", "")
	}
	if g.w.ungenerated() {
		g.can("generate", "", "")
	}
	for _, p := range g.w.processes {
		g.ofProcess(p)
	}
	for _, c := range g.w.clusters {
		g.ofCluster(c, ends)
	}
}

func (g *generator) can(op, who, what string) {
	g.found = append(g.found, Step{Op: op, Who: who, What: what})
}

func (g *generator) ofProcess(p *process) {
	for s := range kinds + 1 {
		if p.behind(stream(s)) {
			g.can("deliver", p.name, stream(s).String())
		}
	}
	if !p.leads {
		return
	}
	for _, at := range p.sends.ready {
		g.can("reconcile", p.name, at.String())
	}
	for _, at := range p.reports.ready {
		g.can("status", p.name, at.String())
	}
}

func (g *generator) ofCluster(c *cluster, ends func() bool) {
	if c.connected {
		for _, name := range sortedNames(c.news) {
			g.can("hear", c.name, name)
		}
		for _, name := range sortedNames(c.todo) {
			g.can("agent", c.name, name)
		}
	}
	if c.failing {
		return
	}
	for _, at := range sortedKeys(c.stirred) {
		op := "argo"
		if ends() {
			op = "finish"
		}
		g.can(op, c.name, at.String())
	}
	if c.garbage {
		g.can("collect", c.name, "")
	}
}

// disturbed adds a fault to a reconcile, or inner steps in the middle of the reconcile.
func (g *generator) disturbed(s Step) Step {
	if s.Op != "reconcile" {
		return s
	}
	switch n := g.r.IntN(8); {
	case n == 0 && len(g.Faults) > 0:
		s.At, s.Fault = g.r.IntN(12), g.Faults[g.r.IntN(len(g.Faults))]
	case n < 3:
		s.At = 1 + g.r.IntN(14)
		for range 1 + g.r.IntN(3) {
			switch g.r.IntN(6) {
			case 0:
				s.Inner = append(s.Inner, g.verb())
			case 1:
				if slices.Contains(g.Mishaps, "lead-too") {
					other := map[string]string{"a": "b", "b": "a"}[s.Who]
					s.Inner = append(s.Inner, Step{Op: "lead-too", Who: other}, Step{Op: "turn", Who: other})
				}
			case 2:
				s.Inner = append(s.Inner, Step{Op: "catch-up", Who: g.pick([]string{"a", "b"})})
			default:
				s.Inner = append(s.Inner, Step{Op: "round", Who: g.pick(g.Names)})
			}
		}
	}
	return s
}
