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
	// remindAfter is how long an agent has to answer before the first reminder. The time doubles for each further
	// reminder, up to remindAtMost. After an outage, an agent asks for missed changes without a reminder.
	remindAfter, remindAtMost = 10 * time.Second, 30 * time.Minute
)

// A question is an open task of an agent: to report that a bundle is applied or removed.
type question struct {
	id         string
	uid        types.UID
	generation int64
	removal    bool
}

// questionOf returns the question about the present state of a bundle.
func questionOf(id string, b *bundle.Bundle) question {
	return question{id: id, uid: b.Work.UID, generation: b.Work.Generation, removal: !b.Work.DeletionTimestamp.IsZero()}
}

// newQuestions returns a queue of the questions not answered by agents yet.
func newQuestions() workqueue.TypedRateLimitingInterface[question] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[question](remindAfter, remindAtMost)
	due := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[question]{Queue: &dueQuestions{reminders: limiter.NumRequeues}})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[question]{
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[question]{Queue: due}),
	})
}

// dueQuestions are the questions due for a reminder. Questions without a reminder come first, in the order from the
// latest to the oldest. The many works of an absent agent do not delay a work with a lost write.
type dueQuestions struct {
	reminders    func(question) int
	fresh, later []question
}

// Touch implements workqueue.Queue.
func (*dueQuestions) Touch(question) {}

// Push implements workqueue.Queue.
func (d *dueQuestions) Push(q question) {
	if d.reminders(q) <= 1 {
		d.fresh = append(d.fresh, q)
	} else {
		d.later = append(d.later, q)
	}
}

// Len implements workqueue.Queue.
func (d *dueQuestions) Len() int { return len(d.fresh) + len(d.later) }

// Pop implements workqueue.Queue.
func (d *dueQuestions) Pop() (q question) {
	if last := len(d.fresh) - 1; last >= 0 {
		q, d.fresh = d.fresh[last], d.fresh[:last]
		return q
	}
	q, d.later = d.later[0], d.later[1:]
	return q
}

// expect notes the question about the present state of a bundle, if the agent has not answered yet.
func (m *Mirror) expect(id string, b *bundle.Bundle) {
	q := questionOf(id, b)
	switch {
	case m.Quiet:
	case b.Answered() && !q.removal:
		m.answered(q)
	case m.questions.NumRequeues(q) == 0:
		if !q.removal { // a removal takes as long as the deletion of the deployed resources
			m.lag.expect(q, time.Now())
		}
		m.questions.AddRateLimited(q)
	}
}

// answered notes an agent's answer.
func (m *Mirror) answered(q question) {
	m.lag.answer(q, time.Now())
	m.questions.Forget(q)
}

// gone notes that Maestro no longer has a bundle. The missing bundle is the answer to a requested removal.
func (m *Mirror) gone(id string) {
	if b := m.store.byID(id); b != nil {
		m.answered(questionOf(id, b))
	}
	name, _ := m.store.nameOf(id)
	m.store.remove(id)
	m.removals.forget(id, name, m.store.get(name) == nil)
}

// remind sends a reminder to an agent that has not answered. The earlier message may be lost on the way, or by the
// agent. The agent of Open Cluster Management 1.2.0 forgets a spec received during the write of a status. Maestro
// passes on no status about the earlier spec. remind returns false when the mirror has stopped.
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
	if m.MayWrite() != nil { // the leading process sends the reminder
		m.lag.drop(q)
		m.questions.AddAfter(q, remindAfter)
		return true
	}
	limit.SetLimit(m.lag.pace(time.Now()))
	if limit.Wait(ctx) != nil {
		return false
	}
	m.lag.drop(q) // before an answer can come
	if err := m.sendReminder(ctx, q); err != nil {
		name, _ := m.store.nameOf(q.id)
		m.log.V(1).Info("Failed to ask a silent agent again", "work", name, "error", err)
		m.questions.AddAfter(q, remindAfter)
		return true
	}
	m.questions.AddRateLimited(q)
	return true
}

// isOpen returns whether the agent still has to answer q.
func (m *Mirror) isOpen(q question) bool {
	b := m.store.byID(q.id)
	return b != nil && questionOf(q.id, b) == q && (q.removal || !b.Answered())
}

// sendReminder lets Maestro send a bundle, or the deletion of a bundle, again. An agent applies a bundle again if the
// labels differ. For new labels, the bundle gets a new first version of the spec: see bundle.Label.
func (m *Mirror) sendReminder(ctx context.Context, q question) error {
	name, _ := m.store.nameOf(q.id)
	defer m.lock(name)()
	if q.removal { // Maestro deletes any bundle with the id, also a successor
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
	again := b.Reapplied()
	if err := m.publish(ctx, cetypes.UpdateRequestAction, again); err != nil {
		// If Maestro is unreachable, the list after the next connect shows the result.
		if !maestro.Unreachable(err) {
			m.stale.AddRateLimited(q.id)
		}
		return err
	}
	m.take(again)
	return nil
}
