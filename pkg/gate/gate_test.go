package gate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/gate"
)

// TestTable: Of returns the gates of the intent, in the order of the table.
func TestTable(t *testing.T) {
	table := gate.Table[string, func() gate.Answer]{
		{Name: "first", Blocks: []string{"send"}},
		{Name: "second", Blocks: []string{"remove"}},
		{Name: "third", Blocks: []string{"remove", "send"}},
	}
	var names []string
	for g := range table.Of("send") {
		names = append(names, g.Name)
	}
	if want := []string{"first", "third"}; !slices.Equal(names, want) {
		t.Errorf("gates of the intent: %v, want %v", names, want)
	}
	for g := range table.Of("remove") {
		if g.Name != "second" {
			t.Errorf("a loop that has ended is at %q", g.Name)
		}
		break
	}
}

// TestSooner: zero is no end of a wait.
func TestSooner(t *testing.T) {
	for _, tc := range []struct{ a, b, want time.Duration }{{0, 0, 0}, {0, 2, 2}, {2, 0, 2}, {1, 2, 1}, {2, 1, 1}} {
		if got := gate.Sooner(tc.a, tc.b); got != tc.want {
			t.Errorf("%d and %d: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestBlockf: an answer with words blocks.
func TestBlockf(t *testing.T) {
	if got := gate.Blockf("cluster %s is away", "c1"); got != (gate.Answer{Words: "cluster c1 is away"}) {
		t.Errorf("got %+v", got)
	}
}
