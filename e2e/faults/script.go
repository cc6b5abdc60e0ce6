package faults

import "sync"

// A script says what happens to the writes of a point, and keeps what was written.
type script struct {
	mu sync.Mutex

	// faults are what happens, by the number of the write; the first is 1.
	faults map[int]Kind

	// writes are the sites of all writes so far, and met is how many of the faults have been met.
	writes []string
	met    int

	// holds is set while a write waits for the kill of the process.
	holds bool
}

// next counts a write and says what happens to it; empty for nothing.
func (s *script) next(site string) Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, site)
	kind := s.faults[len(s.writes)]
	if kind != "" {
		s.met++
	}
	return kind
}

// hold notes that a write waits for the kill.
func (s *script) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = true
}

// holding tells whether one does.
func (s *script) holding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds
}

// written are the sites of all writes so far.
func (s *script) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// hits is how many of the faults have been met.
func (s *script) hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}
