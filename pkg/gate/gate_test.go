package gate_test

import (
	"slices"
	"testing"

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

// TestBlockf: an answer with words blocks.
func TestBlockf(t *testing.T) {
	if got := gate.Blockf("cluster %s is away", "c1"); got != (gate.Answer{Words: "cluster c1 is away"}) {
		t.Errorf("got %+v", got)
	}
}
