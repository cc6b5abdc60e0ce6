package gate

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Gate is one reason to wait. I is the type of the table's intents, and F is the type of the function that asks the
// gate.
type Gate[I comparable, F any] struct {
	// Name is the unique name in the table.
	Name string

	// Reason is the reason of the condition that shows the gate; empty if no condition shows the gate.
	Reason string

	// Blocks are the intents that the gate can block.
	Blocks []I

	// Backoff is true if an unwatched change, or perhaps a user, ends the wait. The intervals between checks then grow.
	Backoff bool

	// Check returns why the gate blocks; nil for a gate found during execution, and not asked before.
	Check F
}

// Table contains all reasons to wait of a decision, in the order of the questions.
type Table[I comparable, F any] []Gate[I, F]

// Of returns the gates that can block an intent, in order.
func (t Table[I, F]) Of(intent I) iter.Seq[*Gate[I, F]] {
	return func(yield func(*Gate[I, F]) bool) {
		for n := range t {
			if slices.Contains(t[n].Blocks, intent) && !yield(&t[n]) {
				return
			}
		}
	}
}

// Answer is why a gate blocks. The zero value means: the check passes.
type Answer struct {
	// Words are the reason, for the user who can remove the reason; empty for a passed check.
	Words string

	// After is the maximum length of the wait; zero if only an event ends the wait.
	After time.Duration
}

// Sooner returns the shorter of two waits. Zero means: for ever.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Blockf returns the answer of a blocking gate.
func Blockf(format string, args ...any) Answer { return Answer{Words: fmt.Sprintf(format, args...)} }

// TraceEntry is the answer of a gate, in a trace: the checks and steps of a decision, in order.
type TraceEntry struct {
	// Gate is the name of the gate.
	Gate string `json:"name"`

	// Work is the work in question, as namespace/name; empty for a gate of the decision's own object.
	Work string `json:"work,omitempty"`

	// Words is why the gate blocks; empty for a passed check, and for a finished step.
	Words string `json:"message,omitempty"`
}
