package aggregation

import "time"

// A report is one object, however many rows change: what a change costs the API server grows with the report. So
// writes are paid for, with time in which the report is not written; a report that has been quiet has some credit.
// A lone change is written at once, and in a storm changes are collected: the larger the report, the longer its writes
// take and the more reports are waiting, the more of them.
const (
	// settle is how long to wait after a change for others that belong to it.
	settle = 50 * time.Millisecond

	// credit is for how much a report may be written before it is paid for.
	credit = 500 * time.Millisecond

	// minCost and maxCost bound the cost of a write. The second is for an API server that hardly follows: what is left of
	// it goes to the changes themselves, but no report is much older than this because others are slow.
	minCost, maxCost = 100 * time.Millisecond, 5 * time.Second

	// bytesPerSecond is what the writes of one report may come to. A report of 1 MiB is written every 0.7 s at most.
	bytesPerSecond = 3 << 19

	// patience is how many times as long as a write took lies between two of one report, at least; where more reports
	// than that are waiting, as many times as there are. On average no more than one is being written, and a lone one
	// leaves the API server a third of the time for the changes themselves.
	patience = 1.5
)

// cost is what a write of a report of that size has to be paid for that took so long, while so many were busy.
func cost(size int, took time.Duration, busy int) time.Duration {
	bySize := time.Duration(size) * time.Second / bytesPerSecond
	byTime := time.Duration(float64(took) * max(patience, float64(busy)))
	return min(maxCost, max(minCost, bySize, byTime))
}

// pay notes what a write cost that has just ended.
func (s *set) pay(now time.Time, cost time.Duration) {
	if s.paid.Before(now) {
		s.paid = now
	}
	s.paid = s.paid.Add(cost)
}

// wait is how long not to write yet.
func (s *set) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.since.Add(settle)
	if paid := s.paid.Add(-credit); paid.After(due) {
		due = paid
	}
	return due.Sub(now)
}
