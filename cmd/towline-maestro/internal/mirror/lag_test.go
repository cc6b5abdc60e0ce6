package mirror

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestPace checks that the reminders slow down while agents answer late without a reminder.
func TestPace(t *testing.T) {
	const slow = 30 * time.Second // time to an agent's answer while Maestro is behind
	q, other := question{id: "one"}, question{id: "another"}
	for title, tc := range map[string]struct {
		happens func(l *lag, at func(time.Duration) time.Time)
		after   time.Duration
		want    rate.Limit
	}{
		"nothing was asked": {func(*lag, func(time.Duration) time.Time) {}, 0, reminders},
		"nobody answers": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
		}, time.Hour, reminders},
		"an answer in time": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
			l.answer(q, at(remindAfter))
		}, remindAfter, reminders},
		"a late answer": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
			l.answer(q, at(slow))
		}, slow, remindersBehind},
		"a late answer, and others in time since": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
			l.answer(q, at(slow))
			l.expect(other, at(slow))
			l.answer(other, at(slow+time.Second))
		}, slow + time.Second, remindersBehind},
		"a late answer, and none since": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
			l.answer(q, at(slow))
		}, slow + remindAfter, reminders},
		"a late answer, once more": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
			l.answer(q, at(slow))
			l.answer(q, at(slow+remindAfter))
		}, slow + remindAfter, reminders},
		"an answer to a reminder: what was sent first was lost": {func(l *lag, at func(time.Duration) time.Time) {
			l.expect(q, at(0))
			l.drop(q)
			l.answer(q, at(slow))
		}, slow, reminders},
	} {
		t.Run(title, func(t *testing.T) {
			l, begin := &lag{}, time.Now()
			tc.happens(l, begin.Add)
			if got := l.pace(begin.Add(tc.after)); got != tc.want {
				t.Errorf("%v reminders a second, want %v", got, tc.want)
			}
			if len(l.due) > 0 && title != "nobody answers" {
				t.Errorf("%v is remembered for ever", l.due)
			}
		})
	}
}
