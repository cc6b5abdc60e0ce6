package simulation

import (
	"slices"
	"strings"
)

// Shrink removes the steps that a failing schedule does not need: chunks of steps, single steps, and disturbances of a
// step. The failure stays the same.
func Shrink(o Options, steps []Step, failure *Failure) []Step {
	fails := func(s []Step) bool {
		w := Replay(o, s)
		return w.failure != nil && w.failure.Law == failure.Law && shape(w.failure.What) == shape(failure.What)
	}
	if !fails(steps) {
		return steps // the schedule does not fail again: the simulation is not deterministic
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

// simplify removes inner steps and faults from steps.
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

// shape returns a message without the variable parts: names and numbers.
func shape(message string) string {
	words := strings.Fields(message)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "0123456789[]/") }), " ")
}
