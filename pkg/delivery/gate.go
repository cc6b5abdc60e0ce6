package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
)

// Ends is what ends a wait.
type Ends string

const (
	// ByEvent means: the change of an object that is watched.
	ByEvent Ends = "event"

	// ByTime means: a time that is known.
	ByTime Ends = "time"

	// ByBackoff means: nothing that is watched, and perhaps a person: it is looked at ever more seldom.
	ByBackoff Ends = "backoff"
)

// poll is how often to look at what is not in the cache.
const poll = 5 * time.Second

// Gate is one reason to wait.
type Gate struct {
	// Name tells it from the others.
	Name string

	// Type and Reason are those of the condition that shows it. Type is empty where the notice of the whole says it, and
	// Reason where who refuses says it.
	Type, Reason string

	// Holds are the intents that it holds back.
	Holds []Intent

	// Ends is what ends the wait.
	Ends Ends

	// ask is why it holds; nil for a gate that is met while the work is written, where lift says so by its name.
	ask func(*decision, question) answer
}

// question is what a gate is asked.
type question struct {
	intent Intent

	// work is the one that is asked about; nil for the Application.
	work *workv1.ManifestWork
}

// answer is why a gate holds. The zero value: it is open.
type answer struct {
	words string

	// kind and reason stand for those of the gate, unless they are empty.
	kind, reason string

	// after is how long a wait lasts at most; zero for one that only an event ends.
	after time.Duration
}

var open answer

func because(format string, args ...any) answer { return answer{words: fmt.Sprintf(format, args...)} }

// hold is what keeps a decision from going on, in words for the one who can change that, and when to look again.
type hold struct {
	Condition
	Wait
}

// and is a hold with more to tell.
func (h *hold) and(words string) *hold {
	h.Message += words
	return h
}

// meanwhile is a hold with what is under way put behind it, and with what that waits for; it may be nil.
func (h *hold) meanwhile(notice *hold) *hold {
	if notice != nil {
		h.Message += "; meanwhile it is " + notice.Message
		h.Wait = h.Wait.and(notice.Wait)
	}
	return h
}

// held asks the gates of an intent, of the Application for a nil work, and is what the first one says that is not open; nil
// when all are.
func (d *decision) held(i Intent, w *workv1.ManifestWork) *hold {
	for n := range Gates {
		g := &Gates[n]
		if g.ask == nil || !slices.Contains(g.Holds, i) {
			continue
		}
		a := g.ask(d, question{i, w})
		if d.plan.Need != 0 {
			return &hold{} // nothing is known before that has been read
		}
		d.trace(g.Name, w, a.words)
		if a.words != "" {
			return g.hold(a)
		}
	}
	return nil
}

// met is the hold of a gate that is met on the way.
func (d *decision) met(name string, a answer) *hold {
	d.trace(name, nil, a.words)
	return gateOf(name).hold(a)
}

func (d *decision) trace(gate string, w *workv1.ManifestWork, words string) {
	said := Answer{Gate: gate, Holds: words}
	if w != nil {
		said.Work = w.Namespace + "/" + w.Name
	}
	d.plan.Trace = append(d.plan.Trace, said)
}

func (g *Gate) hold(a answer) *hold {
	h := &hold{Condition: Condition{Type: cmp.Or(a.kind, g.Type), Reason: cmp.Or(a.reason, g.Reason), Message: a.words}}
	h.After, h.Backoff = a.after, g.Ends == ByBackoff
	return h
}

// Unasked tells whether a gate is open where a plan does not tell of it: it is met while works are written, or asked only of
// works that lose their right.
func Unasked(gate string) bool {
	g := gateOf(gate)
	asked := func(i Intent) bool { return i != Missing && i != Refused }
	return g.ask == nil || !slices.ContainsFunc(g.Holds, asked)
}

// gateOf is the gate of that name.
func gateOf(name string) *Gate {
	return &Gates[slices.IndexFunc(Gates, func(g Gate) bool { return g.Name == name })]
}
