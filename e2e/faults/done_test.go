package faults

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDone: the next piece of a run knows what the last one has done, and runs again what failed.
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

// TestDoneRefusesOthersFiles: a file of something else is not added to.
func TestDoneRefusesOthersFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "done")
	if err := os.WriteFile(path, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDone(path); err == nil {
		t.Error("it is read")
	}
}

// TestNoPointBeginsLate: within a round, too, no point begins once the time is over.
func TestNoPointBeginsLate(t *testing.T) {
	g := &Gate{Parallel: 2, Until: time.Now().Add(-time.Second)}
	points := make([]Point, 3*g.Parallel)
	if err := g.all(t.Context(), points, func(r Result) { t.Errorf("%v has begun", r.Point) }); err != nil {
		t.Error(err)
	}
}
