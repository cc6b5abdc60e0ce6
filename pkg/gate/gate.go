package gate

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Ends is what ends a wait.
type Ends int

const (
	// ByEvent means: the change of an object that is watched.
	ByEvent Ends = iota

	// ByTime means: a time that is known, if no event comes before.
	ByTime

	// ByBackoff means: nothing that is watched, or not all of it is, and perhaps a person: it is looked at ever more seldom.
	ByBackoff
)

// Gate is one reason to wait. I are the intents of its table, and F is the function that asks it.
type Gate[I comparable, F any] struct {
	// Name tells it from the others of its table.
	Name string

	// Type and Reason are those of the condition that shows it. Type is empty where a table has one type for all, or where the
	// notice of the whole says it; Reason is empty where who refuses says it, and where no condition shows the gate.
	Type, Reason string

	// Holds are the intents that it holds back.
	Holds []I

	// Ends is what ends the wait: an event, unless it says otherwise.
	Ends Ends

	// Ask answers why it holds; nil for a gate that is met on the way and not asked before.
	Ask F
}

// Table is all reasons to wait of a decision, in the order in which they are asked.
type Table[I comparable, F any] []Gate[I, F]

// Of are the gates that hold an intent back, in their order.
func (t Table[I, F]) Of(intent I) iter.Seq[*Gate[I, F]] {
	return func(yield func(*Gate[I, F]) bool) {
		for n := range t {
			if slices.Contains(t[n].Holds, intent) && !yield(&t[n]) {
				return
			}
		}
	}
}

// Named is the gate of a name that the table has; it panics for another one.
func (t Table[I, F]) Named(name string) *Gate[I, F] {
	return &t[slices.IndexFunc(t, func(g Gate[I, F]) bool { return g.Name == name })]
}

// Answer is why a gate holds. The zero value: it is open.
type Answer struct {
	// Words say why, to the one who can change that; empty for an open gate.
	Words string

	// Type and Reason stand for those of the gate, unless they are empty.
	Type, Reason string

	// After is how long the wait lasts at most; zero for one that only an event ends.
	After time.Duration
}

// Because is the answer of a gate that holds.
func Because(format string, args ...any) Answer { return Answer{Words: fmt.Sprintf(format, args...)} }

// Said is one line of a trace: the answer of one gate.
type Said struct {
	// Gate is its name.
	Gate string

	// Work names the work that it was asked of, as namespace/name; empty for the object that the decision is about.
	Work string

	// Holds is why it holds; empty where it is open.
	Holds string
}
