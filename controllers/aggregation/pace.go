package aggregation

import "time"

// A report is one object, even if only one row changes: the cost of a change for the API server grows with the report.
// Each write is paid for with time without writes. An idle report has some credit. A single change is written at once.
// In a storm, one write collects many changes: more changes if the report is larger, if the writes are slower, or if
// more reports wait.
const (
	// settle is the wait after a change for further changes that belong to the same event.
	settle = 50 * time.Millisecond

	// credit is the cost of writes that a report may have before it has to wait.
	credit = 500 * time.Millisecond

	// minCost and maxCost are the limits for the cost of a write. maxCost is for a slow API server: the remaining
	// capacity goes to the changes themselves. But slow writes delay no report by much more than maxCost.
	minCost, maxCost = 100 * time.Millisecond, 5 * time.Second

	// bytesPerSecond limits the writes of one report. A report of 1 MiB is written every 0.7 s at most.
	bytesPerSecond = 3 << 19

	// patience is the minimum time between two writes of one report, as a multiple of the duration of a write. If more
	// reports wait, the factor is the number of waiting reports. On average, at most one report is being written. With
	// a single report, a third of the time of the API server remains for the changes themselves.
	patience = 1.5
)

// cost returns the cost of a write, from the size of the report, the duration of the write, and the number of busy
// sets.
func cost(size int, took time.Duration, busy int) time.Duration {
	bySize := time.Duration(size) * time.Second / bytesPerSecond
	byTime := time.Duration(float64(took) * max(patience, float64(busy)))
	return min(maxCost, max(minCost, bySize, byTime))
}

// pay adds the cost of the last write.
func (s *set) pay(now time.Time, cost time.Duration) {
	if s.paid.Before(now) {
		s.paid = now
	}
	s.paid = s.paid.Add(cost)
}

// wait returns how long to wait before the next write.
func (s *set) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.since.Add(settle)
	if paid := s.paid.Add(-credit); paid.After(due) {
		due = paid
	}
	return due.Sub(now)
}
