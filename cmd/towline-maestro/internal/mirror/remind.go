package mirror

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestro"
)

const (
	// remindAfter is how long an agent has to answer before it is asked again. Each further time it has twice as long, up to remindAtMost.
	// An agent that was away asks by itself for what it has missed.
	remindAfter, remindAtMost = 10 * time.Second, 30 * time.Minute
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
	asked := workqueue.NewTypedItemExponentialFailureRateLimiter[question](remindAfter, remindAtMost)
	due := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[question]{Queue: &dueQuestions{asked: asked.NumRequeues}})
	return workqueue.NewTypedRateLimitingQueueWithConfig(asked, workqueue.TypedRateLimitingQueueConfig[question]{
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[question]{Queue: due}),
	})
}

// dueQuestions are those to be asked again now. Those come first that have been asked once, the latest before the others: the many
// works of an agent that is away do not hold up one whose last write was lost.
type dueQuestions struct {
	asked        func(question) int
	fresh, later []question
}

// Touch is that of workqueue.Queue.
func (*dueQuestions) Touch(question) {}

// Push is that of workqueue.Queue.
func (d *dueQuestions) Push(q question) {
	if d.asked(q) <= 1 {
		d.fresh = append(d.fresh, q)
	} else {
		d.later = append(d.later, q)
	}
}

// Len is that of workqueue.Queue.
func (d *dueQuestions) Len() int { return len(d.fresh) + len(d.later) }

// Pop is that of workqueue.Queue.
func (d *dueQuestions) Pop() (q question) {
	if last := len(d.fresh) - 1; last >= 0 {
		q, d.fresh = d.fresh[last], d.fresh[:last]
		return q
	}
	q, d.later = d.later[0], d.later[1:]
	return q
}

// expect notes that the agent has to answer what Maestro has of a bundle, if it has not.
func (m *Mirror) expect(id string, b *bundle.Bundle) {
	q := questionOf(id, b)
	switch {
	case m.Quiet:
	case b.Answered() && !q.removal:
		m.answered(q)
	case m.questions.NumRequeues(q) == 0:
		if !q.removal { // which takes as long as what the work has deployed needs to go
			m.lag.expect(q, time.Now())
		}
		m.questions.AddRateLimited(q)
	}
}

// answered notes that an agent has answered.
func (m *Mirror) answered(q question) {
	m.lag.answer(q, time.Now())
	m.questions.Forget(q)
}

// gone takes down that Maestro does not have a bundle any more, which answers who has asked for its removal.
func (m *Mirror) gone(id string) {
	if b := m.store.byID(id); b != nil {
		m.answered(questionOf(id, b))
	}
	name, _ := m.store.nameOf(id)
	m.store.remove(id)
	m.removals.forget(id, name, m.store.get(name) == nil)
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
		m.lag.drop(q)
		m.questions.Forget(q)
		return true
	}
	if m.MayWrite() != nil { // another process asks
		m.lag.drop(q)
		m.questions.AddAfter(q, remindAfter)
		return true
	}
	limit.SetLimit(m.lag.pace(time.Now()))
	if limit.Wait(ctx) != nil {
		return false
	}
	m.lag.drop(q) // before an answer can come
	if err := m.askAgain(ctx, q); err != nil {
		name, _ := m.store.nameOf(q.id)
		m.log.V(1).Info("An agent that has not answered could not be asked again", "work", name, "error", err)
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
	if q.removal { // Maestro deletes whatever has the id
		if err := m.read(ctx, q.id); err != nil {
			return err
		}
	}
	if !m.isOpen(q) {
		return nil
	}
	b, times := m.store.byID(q.id), m.questions.NumRequeues(q)
	m.log.V(min(times-1, 1)).Info("An agent has not answered, and is asked again",
		"work", name, "version", b.Version, "removal", q.removal, "times", times)
	if q.removal {
		return m.publish(ctx, cetypes.DeleteRequestAction, b)
	}
	again := b.Again()
	if err := m.publish(ctx, cetypes.UpdateRequestAction, again); err != nil {
		if !maestro.Unreachable(err) { // of that, the list at the next connect tells
			m.stale.AddRateLimited(q.id)
		}
		return err
	}
	m.take(again)
	return nil
}
