package mirror

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

const (
	// remindAfter is how long an agent may take to answer before it is asked again. Each time it may take twice as long as before, up to
	// remindAtMost: it may be away, and asks for what it has missed when it comes back.
	remindAfter, remindAtMost = 10 * time.Second, 30 * time.Minute

	// reminders is how many there are a second at most. A Maestro that is behind delivers 50 works a second.
	reminders = 5
)

// A question is what an agent has to answer: that it has applied a bundle, or removed it.
type question struct {
	id         string
	uid        types.UID
	generation int64
	removal    bool
}

// questionOf is what the agent has to answer about a bundle as it is.
func questionOf(id string, b *bundle.Bundle) question {
	return question{id: id, uid: b.Work.UID, generation: b.Work.Generation, removal: !b.Work.DeletionTimestamp.IsZero()}
}

// newQuestions is a queue of what agents have not answered yet.
func newQuestions() workqueue.TypedRateLimitingInterface[question] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[question](remindAfter, remindAtMost))
}

// expect notes that the agent has to answer what Maestro has of a bundle, if it has not.
func (m *Mirror) expect(id string, b *bundle.Bundle) {
	q := questionOf(id, b)
	switch {
	case b.Answered() && !q.removal:
		m.questions.Forget(q)
	case m.questions.NumRequeues(q) == 0:
		m.questions.AddRateLimited(q)
	}
}

// remind asks agents again that have not answered. What they were sent may be lost, on the way or by the agent: that of Open Cluster
// Management 1.2.0 forgets a spec that comes while it writes a status, and Maestro tells nobody of what it says about the spec before.
// It is false when the mirror has stopped.
func (m *Mirror) remind(ctx context.Context, limit *rate.Limiter) bool {
	q, stopped := m.questions.Get()
	if stopped {
		return false
	}
	defer m.questions.Done(q)
	if !m.isOpen(q) {
		m.questions.Forget(q)
		return true
	}
	if m.MayWrite() != nil { // another process asks
		m.questions.AddAfter(q, remindAfter)
		return true
	}
	if limit.Wait(ctx) != nil {
		return false
	}
	if err := m.askAgain(ctx, q); err != nil {
		m.log.V(1).Info("An agent that has not answered could not be asked again", "bundle", q.id, "error", err)
		m.questions.AddAfter(q, remindAfter)
		return true
	}
	m.questions.AddRateLimited(q)
	return true
}

// isOpen tells whether the agent still has to answer.
func (m *Mirror) isOpen(q question) bool {
	b := m.store.byID(q.id)
	return b != nil && questionOf(q.id, b) == q && (q.removal || !b.Answered())
}

// askAgain has Maestro send a bundle, or its deletion, once more. Agents heed a bundle whose labels are others: so it gets another first
// version of its spec.
func (m *Mirror) askAgain(ctx context.Context, q question) error {
	name, _ := m.store.nameOf(q.id)
	defer m.lock(name)()
	if !m.isOpen(q) {
		return nil
	}
	b := m.store.byID(q.id)
	m.log.Info("An agent has not answered, and is asked again", "work", name, "version", b.Version, "removal", q.removal)
	if q.removal {
		return m.publish(ctx, cetypes.DeleteRequestAction, b)
	}
	again := b.Again()
	if err := m.publish(ctx, cetypes.UpdateRequestAction, again); err != nil {
		m.stale.AddRateLimited(q.id)
		return err
	}
	m.take(again)
	return nil
}
