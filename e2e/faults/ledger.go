package faults

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// leaseName is the Lease by which one of Towline's replicas leads.
	leaseName = "towline-controller"

	// leaseDuration is for how long it counts after it was written.
	leaseDuration = 15 * time.Second
)

// asked are resources that are written to ask something: nothing is kept of them.
var asked = map[string]bool{"tokenreviews": true, "subjectaccessreviews": true, "selfsubjectaccessreviews": true}

// A term is how long one process leads.
type term struct {
	replica, identity string

	// took is when the API server gave it the Lease, and wrote when it first wrote anything else; zero for not yet.
	took, wrote time.Time
}

// A ledger keeps which replica had the Lease when, and each write by one that had lost it.
type ledger struct {
	mu    sync.Mutex
	terms []term

	// renewed is when the leader last wrote the Lease, and released is set when it has given it up.
	renewed  time.Time
	released bool

	// writes is how many there were, and late are those by a replica that did not have the Lease when it made them.
	writes int
	late   []string
}

// holds tells whether a replica has the Lease.
func (l *ledger) holds(replica string, at time.Time) bool {
	return len(l.terms) > 0 && !l.released && l.terms[len(l.terms)-1].replica == replica && at.Before(l.renewed.Add(leaseDuration))
}

// arrives notes a write that a replica makes, and returns what is to be told of its answer.
func (l *ledger) arrives(replica string, r *request, body []byte) func(*answer) {
	if r.lease() {
		return func(a *answer) {
			if a.code < http.StatusMultipleChoices && a.code > 0 {
				l.lease(replica, body, time.Now())
			}
		}
	}
	if r.passing || asked[r.resource] {
		return func(*answer) {}
	}
	at := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.holds(replica, at)
	return func(a *answer) {
		if a.code < http.StatusMultipleChoices { // also where nobody heard what became of it
			l.wrote(replica, r, at, held)
		}
	}
}

// lease notes that a replica has written the Lease.
func (l *ledger) lease(replica string, body []byte, at time.Time) {
	lease := &coordinationv1.Lease{}
	_, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, lease) // protobuf, most likely
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.late = append(l.late, fmt.Sprintf("the Lease that %s wrote cannot be read: %v", replica, err))
		return
	}
	identity := ""
	if lease.Spec.HolderIdentity != nil {
		identity = *lease.Spec.HolderIdentity
	}
	l.renewed, l.released = at, identity == ""
	if !l.released && (len(l.terms) == 0 || l.terms[len(l.terms)-1].identity != identity) {
		l.terms = append(l.terms, term{replica: replica, identity: identity, took: at})
	}
}

// wrote notes that a replica has written something else.
func (l *ledger) wrote(replica string, r *request, at time.Time, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	switch current := len(l.terms) - 1; {
	case !held:
		l.late = append(l.late, fmt.Sprintf("%s by %s at %s", r.site(), replica, at.Format(time.StampMilli)))
	case l.terms[current].replica == replica && l.terms[current].wrote.IsZero():
		l.terms[current].wrote = at
	}
}

// now is the term that goes on, and how many there were before.
func (l *ledger) now() (current term, before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.terms) == 0 {
		return term{}, 0
	}
	return l.terms[len(l.terms)-1], len(l.terms) - 1
}

// tally is how many writes there were, and which came from a replica that had lost the Lease.
func (l *ledger) tally() (writes int, late []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes, append([]string(nil), l.late...)
}

// answer keeps with what code a request was answered; 0 for not at all.
type answer struct {
	http.ResponseWriter

	code int

	// before is called before the code is sent; nil for nothing.
	before func(*answer)
}

// WriteHeader is that of http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	a.code = code
	if a.before != nil {
		a.before(a)
	}
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController find the rest.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
