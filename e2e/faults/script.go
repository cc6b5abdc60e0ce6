package faults

import (
	"slices"
	"sync"
)

// A script says what happens to the writes of a point, and keeps what was written.
type script struct {
	mu sync.Mutex

	// faults are what happens, by the number of the write; the first is 1.
	faults map[int]Kind

	// agent is set where these are writes of Towline's agent, and not of its controllers.
	agent bool

	// writes are the sites of all writes so far, and met is how many of the faults have been met. beside are writes of the others.
	writes, beside []string
	met            int

	// at is how far it is with the kill of the process that it may want, and carry is what is still done before.
	at    stand
	carry func()
}

// stand is how far a script is with a kill.
type stand int

const (
	// underWay has not come to its kill, holds waits for it, past has had it or came too late, and closed has ended.
	underWay stand = iota
	holds
	past
	closed
)

// next counts a write and says what happens to it; empty for nothing. A kill comes once.
func (s *script) next(site string) Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, site)
	kind := s.faults[len(s.writes)]
	if kind.kills() && s.at != underWay {
		kind = ""
	}
	if kind != "" {
		s.met++
	}
	return kind
}

// note counts a write of those that meet no fault.
func (s *script) note(site string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beside = append(s.beside, site)
}

// hold notes that a write waits for the kill, and what becomes of it right before.
func (s *script) hold(carry func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == underWay { // or else the process is being killed
		s.at, s.carry = holds, carry
	}
}

// kill is called right before the process is killed, whether a write waits for that or not.
func (s *script) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == holds {
		s.carry()
	}
	if s.at != closed {
		s.at = past
	}
}

// end notes that the point has ended.
func (s *script) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = closed
}

func (s *script) standing() stand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// written are the sites of all writes so far.
func (s *script) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// all are the sites of all writes so far, whoever has made them.
func (s *script) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.writes, s.beside)
}

// hits is how many of the faults have been met.
func (s *script) hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}
