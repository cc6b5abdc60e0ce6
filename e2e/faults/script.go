package faults

import (
	"slices"
	"sync"
)

// A script holds the faults of a point's writes, and records the writes.
type script struct {
	mu sync.Mutex

	// faults are the faults, by the number of the write; the first write is 1.
	faults map[int]Kind

	// agent is set if the faults apply to Towline's agent, and not to its controllers.
	agent bool

	// writes are the sites of all writes so far. met is the number of met faults. beside are the writes of processes
	// without faults.
	writes, beside []string
	met            int

	// at is the progress towards the kill of the process. carry runs directly before the kill.
	at    stand
	carry func()
}

// stand is a script's progress towards a kill.
type stand int

const (
	// underWay is before the kill, holds waits for the kill, past is after the kill or arrived too late, and closed has
	// ended.
	underWay stand = iota
	holds
	past
	closed
)

// next counts a write and returns its fault; empty for no fault. A kill happens once.
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

// note counts a write of a process without faults.
func (s *script) note(site string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beside = append(s.beside, site)
}

// hold records that a write waits for the kill, and the action directly before the kill.
func (s *script) hold(carry func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == underWay { // otherwise the process is being killed
		s.at, s.carry = holds, carry
	}
}

// kill is called directly before the kill of the process, whether or not a write waits for the kill.
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

// end records the end of the point.
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

// written returns the sites of all writes so far, of the process with the faults.
func (s *script) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// all returns the sites of all writes so far, of all processes.
func (s *script) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.writes, s.beside)
}

// hits returns the number of met faults.
func (s *script) hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}
