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
	// the gate. An empty Reason means that the block has the reason.
	Type, Reason string

	// Holds are the intents that a check can block.
	Holds []Intent

	// Timed is true if a known time ends the wait, so that no change of the work has to be noticed. Backoff is true if an
	// unwatched change, or perhaps a user, ends the wait. The intervals between checks then grow.
	Timed, Backoff bool

	check func(*view) block
	step  func(*view, *subject) block
}

// block is the answer of a check or of a step: the reason that stops the decision, in words for the user who can remove
// the reason, and the time of the next check. The zero value blocks nothing. The type and the reason replace the fields
// of the gate, unless empty.
type block struct {
	Condition
	Wait

	// required are the facts to read before an answer.
	required FactSet

	// changes are the works that a waiting step writes to make progress. withdraw is a work whose operation must be removed
	// from the hub's Application; nil for none. finalize is true if the hub's Application must lose Argo CD's finalizers.
	// events are sent with the plan.
	changes  []work.Write
	withdraw *workv1.ManifestWork
	finalize bool
	events   []Event
}

// pass is the answer of a passed check, and done the answer of a finished step.
var pass, done block

func blockf(format string, args ...any) block {
	return block{Condition: Condition{Message: fmt.Sprintf(format, args...)}}
}

// blockFor returns the block with a reason of its own; an empty reason stands for the reason of the gate.
func blockFor(reason, message string) block {
	return block{Condition: Condition{Reason: reason, Message: message}}
}

// require returns the answer of a check or step that needs more facts.
func require(n FactSet) block { return block{required: n} }

// changing returns the block with a further write of a work.
func (b block) changing(was, w *workv1.ManifestWork) block {
	b.changes = append(b.changes, work.Change(was, w))
	return b
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

// at returns the block with the fields of the gate.
func (b block) at(g *Gate) *block {
	b.Type, b.Reason, b.Backoff = cmp.Or(b.Type, g.Type), cmp.Or(b.Reason, g.Reason), g.Backoff
	return &b
}

// blockAt returns the block of a notice, and stores the trace.
func (p *Plan) blockAt(g *Gate, b block) *block {
	p.trace(g, nil, b.Message)
	return b.at(g)
}
