package delivery

import (
	"cmp"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// poll is how soon to look again at objects that are not in the cache.
const poll = 5 * time.Second

// slowRecheck is how soon to look again at an object that waits for a person and is not in the cache.
const slowRecheck = time.Minute

// Gate is one reason to wait, and how users see it: a check of the Application, a step of one of its works, or a notice of what is
// under way.
type Gate struct {
	// Name tells the gate from all others.
	Name string

	// Type and Reason are those of the condition that shows the gate. Type is empty where another notice tells of it; Reason is
	// empty where the verdict has its own.
	Type, Reason string

	// Holds are the intents of Applications that a check blocks.
	Holds []Intent

	// Ends is what ends the wait: an event, unless it says otherwise.
	Ends gate.Ends

	// Quiet is set for a gate that leaves no trace while it is open.
	Quiet bool

	check func(*view) verdict
	step  func(*view, *subject) outcome
}

// verdict is the answer of a check. The zero value lets everything pass.
type verdict struct {
	// Words say why the check blocks, to the person who can change that; empty for a check that passes.
	Words string

	// Type and Reason stand for those of the gate, unless they are empty.
	Type, Reason string

	// After is how long the wait lasts at most; zero for one that only an event ends.
	After time.Duration

	// need are facts without which the check has no answer.
	need Need
}

// pass is the verdict of a check that blocks nothing.
var pass verdict

func blockf(format string, args ...any) verdict { return verdict{Words: fmt.Sprintf(format, args...)} }

// require is the verdict of a check that needs more facts.
func require(n Need) verdict { return verdict{need: n} }

// outcome is how far a step has come. The zero value: it is done. A step that waits may have writes by which it goes on.
type outcome struct {
	verdict

	// changes are works to write.
	changes []work.Write

	// withdraw is a work whose operation is to be taken off the hub's Application; nil for none.
	withdraw *workv1.ManifestWork

	// finalize is set when the hub's Application is to lose Argo CD's finalizers.
	finalize bool

	// events are told with the plan.
	events []Event
}

// done is the outcome of a step with nothing left to do.
var done outcome

func waitf(format string, args ...any) outcome { return outcome{verdict: blockf(format, args...)} }

// changing is the outcome with a write of a work.
func (o outcome) changing(was, w *workv1.ManifestWork) outcome {
	o.changes = append(o.changes, work.Change(was, w))
	return o
}

// subject is a work that steps are taken for.
type subject struct {
	*workv1.ManifestWork

	// app is the Application that the work delivers; nil when the hub has none any more.
	app *argocd.Application
}

// block is what keeps a decision from going on, in words for the person who can change that, and when to look again.
type block struct {
	Condition
	Wait
}

// and is the block with more to tell.
func (b *block) and(words string) *block {
	b.Message += words
	return b
}

// meanwhile is the block with what is under way put behind it, and with what that waits for; notice may be nil.
func (b *block) meanwhile(notice *block) *block {
	if notice != nil {
		b.Message += "; meanwhile it is " + notice.Message
		b.Wait = b.Wait.and(notice.Wait)
	}
	return b
}

// shown is the block if it is shown by itself; nil where the notice of the whole tells of it.
func (b *block) shown() *block {
	if b == nil || b.Type == "" {
		return nil
	}
	return b
}

func blockOf(g *Gate, v verdict) *block {
	b := &block{Condition: Condition{Type: cmp.Or(v.Type, g.Type), Reason: cmp.Or(v.Reason, g.Reason), Message: v.Words}}
	b.After, b.Backoff = v.After, g.Ends == gate.ByBackoff
	return b
}

// blockAt is the block of a notice.
func (p *Plan) blockAt(g *Gate, v verdict) *block {
	p.trace(g, nil, v.Words)
	return blockOf(g, v)
}
