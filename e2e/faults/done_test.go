package faults

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDone: the next piece of a run knows the results of the last piece, and repeats failed points.
func TestDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "done")
	passes := Point{Flow: "move", Faults: []Fault{{Conflict, 3}}}
	fails := Point{Flow: "delete", Watch: Ends, Resource: "applications"}
	piece := func(results ...Result) *Done {
		t.Helper()
		d, err := OpenDone(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if err := d.Note(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := func(d *Done, points, met, failed int) {
		t.Helper()
		if p, m, f := d.Sum(); p != points || m != met || f != failed {
			t.Errorf("%d points, %d met their fault, %d failed; want %d, %d, %d", p, m, f, points, met, failed)
		}
	}
	piece(Result{Point: passes, Reached: true}, Result{Point: fails, Err: errors.New("another state")})
	next := piece()
	want(next, 2, 1, 1)
	if !next.Passed(passes) || next.Passed(fails) || next.Passed(Point{Flow: "create", Faults: passes.Faults}) {
		t.Error("only what has passed is passed over")
	}
	piece(Result{Point: fails, Reached: true})
	want(piece(), 2, 2, 0)
}

// TestDoneKnowsFlows: the file keeps the end of a flow without a fault for the next piece, even for very long lines.
func TestDoneKnowsFlows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "done")
	want := &reference{End: State{"hub: Application": strings.Repeat("a\n", 1<<16)}, Writes: []string{"POST manifestworks"}}
	for piece := range 2 {
		d, err := OpenDone(path)
		if err != nil {
			t.Fatal(err)
		}
		g := &Gate{Parallel: 1, references: map[string]*reference{}}
		if piece == 0 {
			g.references["move"] = want
		}
		if err := d.Refer(t.Context(), g, []string{"move"}); err != nil {
			t.Fatal(err)
		}
		if got := g.references["move"]; got == nil || got.End.diff(want.End) != "" || !slices.Equal(got.Writes, want.Writes) {
			t.Errorf("piece %d knows %v", piece, got)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDoneRefusesOthersFiles: a file with foreign content is refused.
func TestDoneRefusesOthersFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "done")
	if err := os.WriteFile(path, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDone(path); err == nil {
		t.Error("it is read")
	}
}

// TestNoPointBeginsLate: no point begins after the end of the time, also within a round.
func TestNoPointBeginsLate(t *testing.T) {
	g := &Gate{Parallel: 2}
	points := make([]Point, 3*g.Parallel)
	if err := g.all(t.Context(), points, time.Now().Add(-time.Second), func(r Result) { t.Errorf("%v has begun", r.Point) }); err != nil {
		t.Error(err)
	}
}
