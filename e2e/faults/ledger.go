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
	// leaseName is the Lease for the leader election of Towline's replicas.
	leaseName = "towline-controller"

	// leaseDuration is the validity of the Lease after a write.
	leaseDuration = 15 * time.Second
)

// asked are resources of pure queries. The API server does not store them.
var asked = map[string]bool{"tokenreviews": true, "subjectaccessreviews": true, "selfsubjectaccessreviews": true}

// A term is the time in which one process leads.
type term struct {
	replica, identity string

	// took is the time of the leader's first write of the Lease. wrote is the time of its first write to any further
	// object, or zero before this write.
	took, wrote time.Time
}

// A ledger records the holders of the Lease, and each write by a replica without the Lease.
type ledger struct {
	mu    sync.Mutex
	terms []term

	// renewed is the time of the leader's last write of the Lease. released is set after the leader has released the
	// Lease, or has ended.
	renewed  time.Time
	released bool

	// writes is the number of writes. late are the writes of a replica that did not have the Lease at the time of the
	// write.
	writes int
	late   []string
}

// holds reports whether a replica has the Lease.
func (l *ledger) holds(replica string, at time.Time) bool {
	return len(l.terms) > 0 && !l.released && l.terms[len(l.terms)-1].replica == replica && at.Before(l.renewed.Add(leaseDuration))
}

// arrives records a replica's write, and returns a function for the answer to the write.
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
		if a.code < http.StatusMultipleChoices { // also if the answer is lost
			l.wrote(replica, r, at, held)
		}
	}
}

// lease records that a replica has written the Lease.
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
	again := l.released // the next process of the same pod
	l.renewed, l.released = at, identity == ""
	if !l.released && (len(l.terms) == 0 || l.terms[len(l.terms)-1].identity != identity || again) {
		l.terms = append(l.terms, term{replica: replica, identity: identity, took: at})
	}
}

// ended records the end of a killed replica: a later write of the process is late, until the next process of the pod
// writes the Lease.
func (l *ledger) ended(replica string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.terms) > 0 && l.terms[len(l.terms)-1].replica == replica {
		l.released = true
	}
}

// wrote records that a replica has written an object other than the Lease.
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

// now returns the current term, and the number of earlier terms.
func (l *ledger) now() (current term, before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.terms) == 0 {
		return term{}, 0
	}
	return l.terms[len(l.terms)-1], len(l.terms) - 1
}

// tally returns the number of writes, and the writes by replicas without the Lease.
func (l *ledger) tally() (writes int, late []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes, append([]string(nil), l.late...)
}

// answer records the status code of an answer. 0: no answer.
type answer struct {
	http.ResponseWriter

	code int

	// before is called before the status code is sent; nil: no call.
	before func(*answer)
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	a.code = code
	if a.before != nil {
		a.before(a)
	}
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap gives http.ResponseController the original writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
