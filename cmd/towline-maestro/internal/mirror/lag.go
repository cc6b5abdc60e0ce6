package mirror

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// reminders is how many there are a second at most, and remindersBehind is how many while Maestro is behind: it delivers 50 works a
// second at best, and each reminder is one more.
const reminders, remindersBehind rate.Limit = 5, 0.5

// A lag tells whether Maestro is behind: an agent has answered late, without being asked again. Then most of what is not answered has not
// been lost, and is on its way. One agent that is slow by itself looks the same: reminders of others come later then. The zero value knows of
// no question.
type lag struct {
	mu       sync.Mutex
	due      map[question]time.Time // until when each was to be answered that has been asked once
	lateness time.Time              // when the last answer came that was late
}

// expect notes that an agent is asked for the first time.
func (l *lag) expect(q question, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due == nil {
		l.due = map[question]time.Time{}
	}
	l.due[q] = now.Add(remindAfter)
}

// answer notes that an agent has answered.
func (l *lag) answer(q question, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if due, known := l.due[q]; known && now.After(due) {
		l.lateness = now
	}
	delete(l.due, q)
}

// drop notes that an answer will tell nothing: the agent is asked again, or need not answer any more.
func (l *lag) drop(q question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.due, q)
}

// pace is how many reminders there may be a second. Maestro counts as behind until no answer has come late for as long as an agent has to
// answer.
func (l *lag) pace(now time.Time) rate.Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.lateness) < remindAfter {
		return remindersBehind
	}
	return reminders
}
