package main

import "testing"

func TestMemoryIsReleasedOnceWhenQuiet(t *testing.T) {
	const much = quietBytes + 1
	releaser, at := &memoryReleaser{}, uint64(0)
	for i, step := range []struct {
		grown uint64
		due   bool
	}{{much, false}, {much, false}, {quietBytes, true}, {0, false}, {quietBytes, false}, {much, false}, {0, true}} {
		at += step.grown
		if got := releaser.due(at); got != step.due {
			t.Errorf("step %d: got %t", i, got)
		}
	}
}

func TestAllocatedGrows(t *testing.T) {
	before := allocated()
	kept = make([]byte, quietBytes)
	if got := allocated() - before; got < quietBytes {
		t.Errorf("grown by %d bytes", got)
	}
}

// kept keeps an allocation from being optimized away.
var kept []byte
