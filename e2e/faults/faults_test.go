package faults

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

var (
	seed     = flag.Int64("faults.seed", 1, "what pairs and samples are chosen by")
	flows    = flag.String("faults.flow", "", "only the flows that match; without it, a brief part of all")
	kinds    = flag.String("faults.kind", ".", "only the points whose names match")
	one      = flag.String("faults.point", "", "one point alone: flow/kind/n; or several, with commas between them")
	count    = flag.Int("faults.points", 0, "how many points of one fault, chosen by the seed; 0 for all")
	pairs    = flag.Int("faults.pairs", 0, "how many points of two faults besides")
	limit    = flag.Duration("faults.time", 0, "how long to begin points; 0 until all are done")
	old      = flag.Duration("faults.old", 0, "by how much what Towline lists and watches is late; 0 for not at all")
	done     = flag.String("faults.done", "", "a file of points that have passed: they are not run again, and what is run is added")
	argo     = flag.String("faults.argocd", "played", "the Argo CD of the first cluster: played, or real for a few flows")
	parallel = flag.Int("faults.parallel", 50, "how many points at a time")
)

// TestFaults runs points on a fleet.
func TestFaults(t *testing.T) {
	if os.Getenv("TOWLINE_FAULTS") == "" {
		t.Skip("set TOWLINE_FAULTS=1 to let something fail on a real fleet")
	}
	w := newTestWorld(t)
	binary, err := towline.Build(t.Context(), w.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	g := newTestGate(t, w, binary)
	began, d := time.Now(), openDone(t)
	if err := d.Refer(t.Context(), g, chosenFlows(t)); err != nil {
		t.Error(err)
	}
	t.Logf("%d flows without a fault in %s, with writes %v", len(g.references), time.Since(began).Round(time.Second), g.Writes())
	if *limit > 0 {
		g.Until = time.Now().Add(*limit)
	}
	runPoints(t, g, slices.DeleteFunc(chosenPoints(t, g.Writes()), d.Passed), d)
}

// openDone opens the results of earlier pieces of a run. At the end, it logs the sums of all pieces.
func openDone(t *testing.T) *Done {
	t.Helper()
	d, err := OpenDone(cmp.Or(*done, filepath.Join(t.TempDir(), "done")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		points, met, failed := d.Sum()
		t.Logf("in all pieces: %d points, %d met their fault, %d failed", points, met, failed)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// plantedPatience limits the time of a point with a planted bug.
const plantedPatience = 40 * time.Second

// TestPlanted: for each planted bug, at least one point fails that a sound build passes.
func TestPlanted(t *testing.T) {
	if os.Getenv("TOWLINE_FAULTS") == "" {
		t.Skip("set TOWLINE_FAULTS=1 to look for planted bugs on a real fleet")
	}
	w := newTestWorld(t)
	binary, err := BuildPlanted(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sound := newTestGate(t, w, binary)
	passed := passedPoints(t, sound)
	sound.Close()
	for _, b := range PlantedBugs {
		g := newTestGate(t, w, binary, plantedEnv+"="+b.Name)
		g.references, g.Patience = sound.references, plantedPatience
		points := slices.DeleteFunc(b.Points(sound), func(p Point) bool { return !passed[p.String()] })
		tried, found := findPlanted(t, g, points)
		g.Close()
		if len(found) == 0 {
			t.Errorf("NOT FOUND: planted bug %q, %s, in %d points", b.Name, b.Loses, tried)
		} else {
			t.Logf("planted bug %q, %s: found by %d of %d points, as by %.600s", b.Name, b.Loses, len(found), tried, found[0])
		}
	}
}

// findPlanted runs points until some points fail after their fault, and returns the number of points that met their
// fault. Sometimes a flow has an additional write, and the lost write then has a different number. Therefore
// findPlanted tries all points up to five times.
func findPlanted(t *testing.T, g *Gate, points []Point) (tried int, found []error) {
	t.Helper()
	for range 5 {
		g.attempt++
		if err := g.Run(t.Context(), points, func(r Result) {
			if !r.Reached {
				return
			}
			tried++
			if r.Err != nil {
				found = append(found, r.Err)
			}
		}); err != nil {
			t.Error(err)
		}
		if len(found) > 0 {
			break
		}
	}
	return tried, found
}

// passedPoints returns the points of all planted bugs that a build without an active bug passes in half of the time
// limit.
func passedPoints(t *testing.T, sound *Gate) map[string]bool {
	t.Helper()
	points, names := map[string]Point{}, []string{}
	for _, b := range PlantedBugs {
		names = append(names, b.flow)
	}
	slices.Sort(names)
	if err := sound.Refer(t.Context(), slices.Compact(names)); err != nil {
		t.Fatal(err)
	}
	for _, b := range PlantedBugs {
		for _, p := range b.Points(sound) {
			points[p.String()] = p
		}
	}
	passed := map[string]bool{}
	if err := sound.Run(t.Context(), slices.Collect(maps.Values(points)), func(r Result) {
		if r.Err != nil {
			t.Errorf("switched off, the planted bugs do not let pass: %v", r.Err)
		}
		passed[r.Point.String()] = r.Err == nil && r.Took < plantedPatience/2
	}); err != nil {
		t.Fatal(err)
	}
	return passed
}

func newTestWorld(t *testing.T) *World {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	f, err := startFleet(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	if err := prepare(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	var keep []string
	if *argo == "real" {
		keep = []string{first}
	}
	w, err := NewWorld(t.Context(), f, keep...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func startFleet(t *testing.T) (*fleet.Fleet, error) {
	if dir := os.Getenv("TOWLINE_E2E_FLEET"); dir != "" {
		return fleet.Connect(t.Context(), dir)
	}
	return fleet.Start(t.Context(), fleet.Options{
		Dir: filepath.Join(t.TempDir(), "fleet"), ArgoCD: []string{"3"}, LeaseSeconds: 20, Progress: os.Stderr,
	})
}

// say prints progress.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

func newTestGate(t *testing.T, w *World, binary string, env ...string) *Gate {
	t.Helper()
	g, err := NewGate(t.Context(), w, binary, *parallel, *old, say, env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func chosenFlows(t *testing.T) []string {
	t.Helper()
	if named := namedPoints(t); named != nil {
		var out []string
		for _, p := range named {
			out = append(out, p.Flow)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	matches := regexp.MustCompile(*flows)
	var out []string
	for _, flow := range Flows() {
		if matches.MatchString(flow.Name) && (*argo != "real" || slices.Contains(Real, flow.Name)) {
			out = append(out, flow.Name)
		}
	}
	return out
}

// namedPoints returns the points from the flag, or Brief by default. The result is nil if the user has chosen flows.
func namedPoints(t *testing.T) []Point {
	t.Helper()
	names := Brief
	switch {
	case *one != "":
		names = strings.Split(*one, ",")
	case *flows != "":
		return nil
	}
	var out []Point
	for _, name := range names {
		p, err := ParsePoint(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *p)
	}
	return out
}

func chosenPoints(t *testing.T, writes map[string]int) []Point {
	t.Helper()
	if named := namedPoints(t); named != nil {
		return named
	}
	random := rand.New(rand.NewSource(*seed))
	chosen, matches := chosenFlows(t), regexp.MustCompile(*kinds)
	maps.DeleteFunc(writes, func(flow string, _ int) bool { return !slices.Contains(chosen, flow) }) // a file may contain further flows
	points := slices.DeleteFunc(Singles(writes), func(p Point) bool {
		return writes[p.Flow] == 0 || !matches.MatchString(p.String())
	})
	random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	if *count > 0 && *count < len(points) {
		points = points[:*count]
	}
	return append(points, Pairs(writes, *pairs, random)...)
}

// runPoints reports an error for each failed point, and for each named point that does not meet its fault. It logs the
// numbers.
func runPoints(t *testing.T, g *Gate, points []Point, d *Done) {
	t.Helper()
	mustMeet := namedPoints(t) != nil
	began := time.Now()
	type tally struct{ points, reached, failed int }
	tallies := map[string]*tally{}
	var results []Result
	err := g.Run(t.Context(), points, func(r Result) {
		if r.Err == nil && !r.Reached && mustMeet {
			r.Err = fmt.Errorf("%s has not met its fault: without one, Towline writes %v in %s",
				r.Point.String(), g.references[r.Point.Flow].Writes, r.Point.Flow)
		}
		if err := d.Note(r); err != nil {
			t.Error(err)
		}
		kind := cmp.Or(string(r.Point.Watch), "pair")
		if len(r.Point.Faults) == 1 {
			kind = string(r.Point.Faults[0].Kind)
		}
		if tallies[kind] == nil {
			tallies[kind] = &tally{}
		}
		tallies[kind].points++
		if r.Reached {
			tallies[kind].reached++
		}
		if r.Err != nil {
			tallies[kind].failed++
			g.Say("FAILED %v", r.Err)
			t.Errorf("FAILED %v\nalone: make faults POINT=%s", r.Err, r.Point.String())
		}
		if results = append(results, r); len(results)%100 == 0 {
			g.Say("%d of %d points in %s", len(results), len(points), time.Since(began).Round(time.Second))
		}
	})
	if err != nil {
		t.Error(err)
	}
	for _, kind := range slices.Sorted(maps.Keys(tallies)) {
		k := tallies[kind]
		t.Logf("%-16s %4d points, %4d met their fault, %d failed", kind, k.points, k.reached, k.failed)
	}
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(b.Took, a.Took) })
	for _, r := range results[:min(len(results), 5)] {
		t.Logf("among the slowest: %s in %s", r.Point.String(), r.Took.Round(time.Second))
	}
	t.Logf("%d points in %s, seed %d", len(results), time.Since(began).Round(time.Second), *seed)
	if t.Failed() {
		t.Logf("the end of Towline's log:\n%s", g.LogTail(30))
	}
}
