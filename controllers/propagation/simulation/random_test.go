package simulation

import (
	"flag"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	schedules = flag.Int("simulation.schedules", 0, "how many schedules to run")
	mass      = flag.Int("simulation.brief", 200_000, "how many brief schedules to run where nothing else is said")
	duration  = flag.Duration("simulation.time", 0, "how long to run, instead")
	from      = flag.Uint64("simulation.seed", 0, "the first seed")
	stride    = flag.Int64("simulation.stride", 60, "every how many pairs of verbs to run")
	shrink    = flag.Bool("simulation.shrink", true, "whether to look for the shortest schedule that fails")
	script    = flag.String("simulation.script", "", "a file with a script; TestScripts then shows the trace of this script")
	keepGoing = flag.Int("simulation.failures", 1, "after how many failures to stop")
)

func one() *Profile {
	return &Profile{
		Options: Options{Names: []string{"c1", "c2"}},
		Apps:    []string{"argocd/one"},
		Verbs:   4,
		Gap:     25,
		Users: map[string][]string{
			"create":     {"c1", "c1 cascade", "c1 cascade", "c1 cascade old-first", "c2 cascade"},
			"move":       {"c1", "c2", "c1", "c2", ""},
			"release":    {"true", "", "true"},
			"delete":     {""},
			"finalizers": {"", "cascade"},
			"spec":       {"v1", "v2"},
		},
		Mishaps: []string{"crash", "relist"},
		Faults:  writeFaults,
	}
}

// everything has one Application and all possible events.
func everything() *Profile {
	p := one()
	maps.Copy(p.Users, map[string][]string{
		"namespace":     {"apps", ""},
		"pause":         {"true", ""},
		"label":         {"", "true", "false"},
		"skip":          {"", "true"},
		"force":         {""},
		"refresh":       {"hard", "normal"},
		"operation":     {""},
		"withdraw":      {""},
		"terminate":     {""},
		"pause-cluster": {"true", ""},
	})
	p.Mishaps = []string{
		"crash", "relist", "lead", "lead-too", "disconnect", "connect", "fail", "mend", "restart-agent", "skew", "sync", "disable",
	}
	return p
}

func TestOneApplication(t *testing.T) { explore(t, one) }

// two has Applications from two namespaces with a common target.
func two() *Profile {
	p := everything()
	p.Apps = []string{"argocd/one", "team-a/one"}
	p.Users["namespace"] = []string{"team-a", "team-a", ""}
	p.Users["recreate"] = []string{"c1 of-set", "c2"}
	return p
}

// edits has edits on clusters of fields from the hub, and corrections on the hub that change only the type of a value.
func edits() *Profile {
	p := everything()
	p.Users["edit-there"] = []string{"argocd/one", "argocd/one", "apps/one"}
	p.Users["unfinalize-there"] = []string{"argocd/one"}
	p.Users["spec"] = []string{"v1", "text", "typed"}
	return p
}

// handovers has Applications that the hub's own Argo CD deploys or may deploy to the cluster.
func handovers() *Profile {
	p := everything()
	p.Users["create"] = []string{"c1 cascade", "c1", "c2 cascade"}
	p.Users["spec"] = []string{"v1", "v1-push", "v2-push", "v1-push-auto"}
	p.Users["dependencies"] = []string{"hold", "free"}
	return p
}

func TestHandovers(t *testing.T) { explore(t, handovers) }

// adoption has existing Applications on clusters.
func adoption() *Profile {
	p := everything()
	p.Users["by-hand"] = []string{"argocd/one", "argocd/one equal", "apps/one"}
	p.Users["adopt"] = []string{"always", "never", "matching"}
	p.Users["create"] = []string{"c1 cascade of-set", "c1 of-set", "c2 cascade"}
	p.Users["pause-set"] = []string{"true", ""}
	return p
}

// disasters has restored hubs, and clusters that leave and join.
func disasters() *Profile {
	p := everything()
	p.Mishaps = append(slices.Clone(p.Mishaps), "rebuild", "backup", "backup", "restore-etcd", "restore-velero", "detach", "join", "join")
	return p
}

// authority has a hub with --on-revocation=delete.
func authority() *Profile {
	p := everything()
	p.Options = revoking()
	maps.Copy(p.Users, map[string][]string{
		"create":  {"c1", "c1 cascade auto", "c1 auto", "c1 cascade old-first auto", "c2 cascade"},
		"spec":    {"v1", "v2", "v1-auto", "v2-auto"},
		"project": {"narrow", "wide", "gone", "executor"},
		"bind":    {"off", ""},
		"set":     {"out", "none", ""},
		"accept":  {"off", ""},
	})
	return p
}

// obstacles has obstacles for works, and invalid requests of users.
func obstacles() *Profile {
	p := everything()
	maps.Copy(p.Users, map[string][]string{
		"move":         {"c1", "c2", "", "c_1", "c9"},
		"release":      {"true", "", "perhaps"},
		"spec":         {"v1", "v2", "bad"},
		"operation":    {"", "", "forbidden", "invalid"},
		"create":       {"c1 cascade", "c1 cascade old-first", "c2 hooks", "c2 cascade hooks", "c1 cascade of-set", "c2 of-set"},
		"squat":        {"", "off"},
		"no-namespace": {""},
		"dependencies": {"hold", "free"},
		"older":        {"", "disabled", "early", "unruled"},
	})
	return p
}

// away has clusters with long outages.
func away() *Profile {
	p := everything()
	p.Users = maps.Clone(p.Users)
	for _, verb := range []string{"pause", "label", "skip", "refresh", "pause-cluster", "namespace"} {
		delete(p.Users, verb)
	}
	p.Mishaps = []string{"disconnect", "disconnect", "connect", "restart-agent", "crash"}
	p.Waits = []string{"6m", "6m", "70s"}
	return p
}

// moves has changes of cluster, mostly new-first, between clusters with outages.
func moves() *Profile {
	p := away()
	for _, verb := range []string{"operation", "withdraw", "terminate", "force", "finalizers", "release"} {
		delete(p.Users, verb)
	}
	p.Users["create"] = []string{"c1 cascade", "c1 cascade old-first"}
	p.Users["move"] = []string{"c1", "c2"}
	p.Users["disconnect"], p.Users["wait"] = []string{""}, []string{"6m"}
	return p
}

// operations has operations, answered or not, of an Application that moves.
func operations() *Profile {
	p := everything()
	for _, verb := range []string{"pause", "label", "skip", "force", "pause-cluster", "release", "refresh"} {
		delete(p.Users, verb)
	}
	p.Mishaps = []string{"crash", "lead-too", "restart-agent", "sync", "sync", "relist", "disable"}
	return p
}

// pauses has paused clusters and Applications that lose their content.
func pauses() *Profile {
	p := one()
	maps.Copy(p.Users, map[string][]string{"pause": {"true", ""}, "pause-cluster": {"true", "true", ""}})
	return p
}

// outages has a cluster that a Placement drops because of an outage, and further changes in the meantime.
func outages() *Profile {
	p := one()
	p.Users = map[string][]string{
		"create": {"c1 cascade followed"}, "delete": {""}, "spec": {"v1", "v2"}, "disconnect": {""}, "connect": {""}, "wait": {"6m", "70s"},
		"delete-on-outage": {"true", ""}, "force": {""}, "drop": {"", "off"}, "unfollow": {""}, "set-controller": {"off", "on"},
		"pause": {"true", ""},
	}
	p.Mishaps = []string{"disconnect", "disconnect", "connect", "connect", "crash", "relist", "lead", "lead-too", "restart-agent"}
	return p
}

// recreations has an Application that is created again and then cannot go to its new place, while the work of the
// earlier Application exists.
func recreations() *Profile {
	p := one()
	p.Users = map[string][]string{
		"create": {"c1 of-set", "c2 of-set", "c1 old-first"}, "recreate": {"c1 of-set", "c1", "c2", "c1 cascade", "c2 old-first", "c2 of-set"},
		"move": {"c1", "c2", "c9", "c_1"}, "namespace": {"apps", ""}, "spec": {"v1", "v2-push", "bad"}, "skip": {"", "true"},
		"delete": {""}, "disconnect": {""},
	}
	p.Mishaps = []string{"lead-too", "crash", "relist", "disconnect", "connect", "restart-agent"}
	return p
}

func TestRecreations(t *testing.T) { explore(t, recreations) }
func TestOutages(t *testing.T)     { explore(t, outages) }
func TestMoves(t *testing.T)       { explore(t, moves) }
func TestOperations(t *testing.T)  { explore(t, operations) }
func TestPauses(t *testing.T)      { explore(t, pauses) }

func TestOneTarget(t *testing.T) { explore(t, two) }
func TestEdits(t *testing.T)     { explore(t, edits) }
func TestAdoption(t *testing.T)  { explore(t, adoption) }
func TestDisasters(t *testing.T) { explore(t, disasters) }

func TestAuthority(t *testing.T)           { explore(t, authority) }
func TestObstacles(t *testing.T)           { explore(t, obstacles) }
func TestUnreachableClusters(t *testing.T) { explore(t, away) }

func TestEverything(t *testing.T) { explore(t, everything) }

// TestReplay: a schedule gives the same result when the steps are replayed.
func TestReplay(t *testing.T) {
	p := disasters()
	for seed := range uint64(60) {
		steps, w := p.Run(seed)
		again := Replay(p.Options, steps)
		if w.state() != again.state() || w.String() != again.String() {
			t.Fatalf("seed %d\n%s\n%s\nand then\n%s", seed, Script(steps), w, again)
		}
	}
}

// TestPairs runs the pairs of verbs, with the second verb at every point after the first verb. By default, it runs
// every 60th pair, and with a time all pairs.
func TestPairs(t *testing.T) {
	run := newRunner(t)
	run.limit = 0
	run.pairs(everything, *stride, Pair.Run)
}

// TestInterruptions runs the pairs of verbs, with the second verb before every read and write of every reconcile after
// the first verb. By default, it runs every 600th pair of two profiles, and with a time as many pairs of all profiles as
// possible.
func TestInterruptions(t *testing.T) {
	profiles := map[string]func() *Profile{"everything": everything, "authority": authority}
	if *duration > 0 {
		maps.Copy(profiles, map[string]func() *Profile{"adoption": adoption, "obstacles": obstacles, "edits": edits, "handovers": handovers})
	}
	for name, profile := range profiles {
		t.Run(name, func(t *testing.T) { newRunner(t).pairs(profile, 10**stride, Pair.Interrupt) })
	}
}

// pairs runs every nth pair of verbs of a profile on all processors, and with a time all pairs in a scattered order.
func (r *runner) pairs(profile func() *Profile, every int64, run func(Pair, func([]Step, *World))) {
	r.t.Helper()
	switch {
	case *duration > 0:
		every = 1
	case slowly:
		every = 1000
	}
	r.all(func() (func(int64) bool, []*Profile) {
		p := profile()
		p.Plans = *plansFile != ""
		jobs := Pairs{p}.All()
		return func(n int64) bool {
			if n *= every; n >= int64(len(jobs)) {
				return false
			}
			if every == 1 {
				n = n * scatter % int64(len(jobs))
			}
			run(jobs[n], func(steps []Step, w *World) { r.judge(p.Options, uint64(n), steps, w) })
			return true
		}, []*Profile{p}
	})
}

// scatter is a prime number.
const scatter = 7919

// everyProfile are all profiles: some with many kinds of events, some with a single kind.
var everyProfile = []func() *Profile{
	one, everything, two, adoption, disasters, authority, obstacles, away, moves, operations, pauses, outages,
	recreations,
}

// patience is the maximum duration of TestSimulate by default. Under load the test runs fewer schedules.
const patience = 3 * time.Minute

// TestSimulate runs schedules of all profiles in turn: the number or the time comes from the flags. Without flags, the
// schedules are brief. Together with the scripts, every gate must block and open at least once.
func TestSimulate(t *testing.T) {
	profiles, n := everyProfile, *schedules
	if n == 0 && *duration == 0 {
		profiles, n = briefly(everyProfile), *mass
	}
	if slowly && *duration == 0 {
		n = min(n, 1000)
	}
	run := newRunner(t)
	if *schedules == 0 && *duration == 0 {
		run.limit = patience
	}
	for _, tc := range gateScripts {
		run.met.add(Replay(optionsOf(tc.options), Parse(tc.script)).stats)
	}
	run.explore(n, profiles...)
	for _, gate := range gates {
		if run.met.held[gate] == 0 || run.met.opened[gate] == 0 {
			t.Errorf("gate %q held %d times and opened %d times", gate, run.met.held[gate], run.met.opened[gate])
		}
	}
}

// briefly returns the profiles with few verbs and few steps in between, for a large number of schedules.
func briefly(profiles []func() *Profile) []func() *Profile {
	out := make([]func() *Profile, len(profiles))
	for i, profile := range profiles {
		out[i] = func() *Profile {
			p := profile()
			p.Verbs, p.Gap = 2, 10
			return p
		}
	}
	return out
}

// explore runs schedules of only these profiles, if a flag asks for schedules.
func explore(t *testing.T, profiles ...func() *Profile) {
	t.Helper()
	if *duration == 0 && *schedules == 0 {
		t.Skip("TestSimulate runs some of all; say how many or how long to run these alone")
	}
	newRunner(t).explore(*schedules, profiles...)
}

// explore runs count schedules on all processors, or runs for the time of the flag. It shows the first failed schedules
// as shortest scripts.
func (r *runner) explore(count int, profiles ...func() *Profile) {
	r.t.Helper()
	r.all(func() (func(int64) bool, []*Profile) {
		mine := make([]*Profile, len(profiles))
		for i, p := range profiles {
			mine[i] = p()
			mine[i].States = *duration > 0
			mine[i].Plans = *plansFile != ""
		}
		return func(n int64) bool {
			if *duration == 0 && n >= int64(count) {
				return false
			}
			seed, p := *from+uint64(n), mine[(*from+uint64(n))%uint64(len(mine))]
			steps, w := p.Run(seed)
			r.judge(p.Options, seed, steps, w)
			return true
		}, mine
	})
}

// runner runs schedules and counts the events.
type runner struct {
	t        *testing.T
	start    time.Time
	limit    time.Duration
	next     atomic.Int64
	failures atomic.Int64

	mu    sync.Mutex
	met   *stats
	plans []string
}

func newRunner(t *testing.T) *runner {
	t.Cleanup(func(before int) func() { return func() { debug.SetGCPercent(before) } }(debug.SetGCPercent(1000)))
	r := &runner{t: t, start: time.Now(), limit: *duration, met: newStats()}
	t.Cleanup(r.writePlans)
	return r
}

// all calls the function from start with one number after the other, on all processors. It ends when the function
// returns false or the time is over. start also returns the profiles of one processor.
func (r *runner) all(start func() (func(n int64) bool, []*Profile)) {
	r.t.Helper()
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			do, profiles := start()
			for r.failures.Load() < int64(*keepGoing) && (r.limit == 0 || time.Since(r.start) < r.limit) && do(r.next.Add(1)-1) {
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, p := range profiles {
				if p.stats != nil {
					r.met.add(p.stats)
				}
			}
		})
	}
	group.Wait()
	r.t.Logf("in %s: %s", time.Since(r.start).Round(time.Millisecond), r.met)
}

// judge shows a failed schedule.
func (r *runner) judge(o Options, seed uint64, steps []Step, w *World) {
	r.keepPlans(seed, w)
	if w.failure == nil || r.failures.Add(1) > int64(*keepGoing) {
		return
	}
	if !*shrink {
		r.t.Errorf("seed %d: %v", seed, w.failure)
		return
	}
	short := Shrink(o, steps, w.failure)
	again, trace := Trace(o, short)
	r.t.Errorf("seed %d: %v\n%s\n\n%v\n%s\n%s", seed, w.failure, Script(short), again.failure, trace, again)
}
