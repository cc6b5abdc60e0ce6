package simulation

import (
	"slices"
	"strings"
)

// Shrink takes out of a failing schedule what it fails without: chunks of steps, single ones, what disturbs a step, one
// after the other until nothing more can go. What is wrong stays the same.
func Shrink(o Options, steps []Step, failure *Failure) []Step {
	fails := func(s []Step) bool {
		w := Replay(o, s)
		return w.failure != nil && w.failure.Law == failure.Law && shape(w.failure.What) == shape(failure.What)
	}
	if !fails(steps) {
		return steps // it does not fail twice: the simulation is not deterministic
	}
	for size := max(1, len(steps)/2); ; {
		before := len(steps)
		for i := 0; i < len(steps); {
			less := slices.Delete(slices.Clone(steps), i, min(i+size, len(steps)))
			if fails(less) {
				steps = less
			} else {
				i += size
			}
		}
		switch {
		case size > 1:
			size /= 2
		case len(steps) == before:
			return simplify(steps, fails)
		}
	}
}

// simplify takes out of steps what disturbs them.
func simplify(steps []Step, fails func([]Step) bool) []Step {
	for i := range steps {
		for j := range slices.Backward(steps[i].Inner) {
			less := slices.Clone(steps)
			less[i].Inner = slices.Delete(slices.Clone(steps[i].Inner), j, j+1)
			if fails(less) {
				steps = less
			}
		}
		if steps[i].Fault != noFault {
			less := slices.Clone(steps)
			less[i].Fault = noFault
			if fails(less) {
				steps = less
			}
		}
	}
	return steps
}

// shape is a message without what differs each time: names and numbers.
func shape(message string) string {
	words := strings.Fields(message)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "0123456789[]/") }), " ")
}
