package mirror

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// reminders is the largest number of reminders in a second, and remindersBehind is the same limit while Maestro is
// behind. Maestro delivers at most 50 works a second, and each reminder adds a work.
const reminders, remindersBehind rate.Limit = 5, 0.5

// A lag detects whether Maestro is behind: an agent has answered late, but without a reminder. Then most of the missing
// answers are not lost, but on the way. A single slow agent looks the same, and delays the reminders to all agents. The
// zero value knows of no question.
type lag struct {
	mu       sync.Mutex
	due      map[question]time.Time // deadlines of the questions asked once, without a reminder
	lateness time.Time              // time of the last late answer
}

// expect notes the first time that an agent has to answer q.
func (l *lag) expect(q question, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due == nil {
		l.due = map[question]time.Time{}
	}
	l.due[q] = now.Add(remindAfter)
}

// answer notes an agent's answer to q.
func (l *lag) answer(q question, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if due, known := l.due[q]; known && now.After(due) {
		l.lateness = now
	}
	delete(l.due, q)
}

// drop ignores a later answer to q: the agent gets a reminder, or need not answer any more.
func (l *lag) drop(q question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.due, q)
}

// pace returns the largest number of reminders in a second. Maestro counts as behind until no late answer has come for
// remindAfter, the time that an agent has to answer.
func (l *lag) pace(now time.Time) rate.Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.lateness) < remindAfter {
		return remindersBehind
	}
	return reminders
}
