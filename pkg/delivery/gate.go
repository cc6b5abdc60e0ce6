package delivery

import (
	"cmp"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// poll is the interval for objects that are not in the cache.
const poll = 5 * time.Second

// slowRecheck is the interval for an object that waits for a user and is not in the cache.
const slowRecheck = time.Minute

// Gate is one reason to wait, as visible to users: a check of the Application, a step of a work, or a notice of an
// operation under way.
type Gate struct {
	// Name is the unique name of the gate.
	Name string

	// Type and Reason are the fields of the condition for the gate. An empty Type means that another notice covers
	// the gate. An empty Reason means that the verdict has the reason.
	Type, Reason string

	// Holds are the intents that a check can block.
	Holds []Intent

	// Timed is true if a known time ends the wait, so that no change of the work has to be noticed. Backoff is true if an
	// unwatched change, or perhaps a user, ends the wait. The intervals between checks then grow.
	Timed, Backoff bool

	// Quiet is true if a plan without a trace entry of the gate means that the gate is open.
	Quiet bool

	check func(*view) verdict
	step  func(*view, *subject) outcome
}

// verdict is the answer of a check. The zero value blocks nothing.
type verdict struct {
	// Words are the reason of the block, for the user who can remove the block; empty for a passed check.
	Words string

	// Type and Reason replace the fields of the gate, unless empty.
	Type, Reason string

	// After is the maximum length of the wait; zero if only an event ends the wait.
	After time.Duration

	// need are the facts required for an answer.
	need Need
}

// pass is the verdict of a passed check.
var pass verdict

func blockf(format string, args ...any) verdict { return verdict{Words: fmt.Sprintf(format, args...)} }

// require returns the verdict of a check that needs more facts.
func require(n Need) verdict { return verdict{need: n} }

// outcome is the progress of a step. The zero value means: done. A waiting step may have writes to make progress.
type outcome struct {
	verdict

	// changes are the works to write.
	changes []work.Write

	// withdraw is a work whose operation must be removed from the hub's Application; nil for none.
	withdraw *workv1.ManifestWork

	// finalize is true if the hub's Application must lose Argo CD's finalizers.
	finalize bool

	// events are sent with the plan.
	events []Event
}

// done is the outcome of a finished step.
var done outcome

func waitf(format string, args ...any) outcome { return outcome{verdict: blockf(format, args...)} }

// changing returns the outcome with a further write of a work.
func (o outcome) changing(was, w *workv1.ManifestWork) outcome {
	o.changes = append(o.changes, work.Change(was, w))
	return o
}

// subject is the work of a step.
type subject struct {
	*workv1.ManifestWork

	// app is the Application delivered by the work; nil if the hub has no Application any more.
	app *argocd.Application

	// untouched is true if the work can be deleted without a preparation by its agent, because the agent has not seen the
	// work. Known for the steps before a deletion.
	untouched bool
}

// block is the reason that stops a decision, in words for the user who can remove the reason, and the time of the
// next check.
type block struct {
	Condition
	Wait
}

// and appends words to the message of the block.
func (b *block) and(words string) *block {
	b.Message += words
	return b
}

// meanwhile appends the message of a running process to the block, and adds the wait of the process; notice may be
// nil.
func (b *block) meanwhile(notice *block) *block {
	if notice != nil {
		b.Message += "; meanwhile the Application is " + notice.Message
		b.Wait = b.Wait.and(notice.Wait)
	}
	return b
}

// shown returns the block if the block has its own condition, and nil if the notice of the whole process covers the
// block.
func (b *block) shown() *block {
	if b == nil || b.Type == "" {
		return nil
	}
	return b
}

func blockOf(g *Gate, v verdict) *block {
	b := &block{Condition: Condition{Type: cmp.Or(v.Type, g.Type), Reason: cmp.Or(v.Reason, g.Reason), Message: v.Words}}
	b.After, b.Backoff = v.After, g.Backoff
	return b
}

// blockAt returns the block of a notice, and stores the trace.
func (p *Plan) blockAt(g *Gate, v verdict) *block {
	p.trace(g, nil, v.Words)
	return blockOf(g, v)
}
