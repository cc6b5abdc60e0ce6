package delivery

import (
	"cmp"
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/gate"
)

// poll is how often to look at what is not in the cache.
const poll = 5 * time.Second

// seldom is how often to look at what waits for a person and is not in the cache.
const seldom = time.Minute

// Gate is one reason to wait. One without a function that asks it is met while the work is written.
type Gate = gate.Gate[Intent, rule]

type rule = func(*decision, question) answer

// question is what a gate is asked.
type question struct {
	intent Intent

	// work is the one that is asked about; nil for the Application.
	work *workv1.ManifestWork
}

type answer = gate.Answer

var open answer

func because(format string, args ...any) answer { return gate.Because(format, args...) }

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
	for g := range Gates.Of(i) {
		if g.Ask == nil {
			continue
		}
		a := g.Ask(d, question{i, w})
		if d.plan.Need != 0 {
			return &hold{} // nothing is known before that has been read
		}
		d.trace(g.Name, w, a.Words)
		if a.Words != "" {
			d.watch(g, w, &a)
			return holdOf(g, a)
		}
	}
	return nil
}

// watch lets the end of a wait for a work be noticed. The cache selects works by the pull label, which older controllers did not
// give to those of ApplicationSets: one that is waited for gets it. Where that is paused nothing is written.
func (d *decision) watch(g *Gate, w *workv1.ManifestWork, a *answer) {
	switch {
	case w == nil || g.Ends != gate.ByEvent || d.leaving(w) || w.Labels[apis.LabelPull] != "":
	case g.Type == paused:
		a.After = soonest(a.After, seldom)
	default:
		d.update(w, w.DeepCopy())
	}
}

// met is the hold of a gate that is met on the way.
func (d *decision) met(name string, a answer) *hold {
	d.trace(name, nil, a.Words)
	return holdOf(Gates.Named(name), a)
}

func (d *decision) trace(name string, w *workv1.ManifestWork, words string) {
	said := gate.Said{Gate: name, Holds: words}
	if w != nil {
		said.Work = w.Namespace + "/" + w.Name
	}
	d.plan.Trace = append(d.plan.Trace, said)
}

func holdOf(g *Gate, a answer) *hold {
	h := &hold{Condition: Condition{Type: cmp.Or(a.Type, g.Type), Reason: cmp.Or(a.Reason, g.Reason), Message: a.Words}}
	h.After, h.Backoff = a.After, g.Ends == gate.ByBackoff
	return h
}

// Unasked tells whether a gate is open where a plan does not tell of it: it is met while works are written, or asked only of
// works that lose their right.
func Unasked(name string) bool {
	g := Gates.Named(name)
	asked := func(i Intent) bool { return i != Missing && i != Refused }
	return g.Ask == nil || !slices.ContainsFunc(g.Holds, asked)
}
