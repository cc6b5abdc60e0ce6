package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// leaseName is the Lease by which one replica leads.
	leaseName = "towline-controller"

	// leaseDuration is for how long the Lease counts after it was renewed.
	leaseDuration = 15 * time.Second

	// leaseRetryPeriod is how often the leader renews the Lease. A replica that waits looks at it after one to 2.2 of these: so it
	// leads at most 1.4 s after the Lease was given up, and nearly always at most two seconds after a Lease that nobody renews ends.
	leaseRetryPeriod = 600 * time.Millisecond

	// onItsWay is how long before its Lease runs out a replica stops writing: a write that is sent then has time to arrive.
	onItsWay = time.Second
)

// errNotLeading is what becomes of a write when another replica may lead.
var errNotLeading = errors.New("this replica's Lease has run out: it does not write any more")

// elect has one of several replicas lead.
func elect(m *ctrl.Options, o *options) {
	m.LeaderElection = o.leaderElect
	m.LeaderElectionID = leaseName
	m.LeaderElectionNamespace = o.leaderElectionNamespace
	m.LeaseDuration = ptr.To(leaseDuration)
	m.RetryPeriod = ptr.To(leaseRetryPeriod)
	// The program ends when the manager does, so the next leader need not wait for the Lease to run out.
	m.LeaderElectionReleaseOnCancel = true
}

// A fence refuses the writes of a replica whose Lease has run out. A process that was frozen goes on where it stopped, with the writes
// that it was about to make, before it learns that another leads.
type fence struct {
	next http.RoundTripper

	// renewed is when the last renewal that succeeded was asked for; nil for a replica that has never led.
	renewed *atomic.Pointer[time.Time]

	now func() time.Time
}

// fenced has all clients of a configuration go through one fence.
func fenced(config *rest.Config) {
	renewed := &atomic.Pointer[time.Time]{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{next, renewed, time.Now} })
}

// RoundTrip is that of http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodGet:
		return f.next.RoundTrip(r)
	case writesLease(r):
		asked := f.now()
		answer, err := f.next.RoundTrip(r)
		if err == nil && answer.StatusCode < http.StatusMultipleChoices {
			f.renewed.Store(&asked)
		}
		return answer, err
	case f.expired():
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper has to
		}
		return nil, errNotLeading
	}
	return f.next.RoundTrip(r)
}

// expired tells whether another replica may lead by now.
func (f *fence) expired() bool {
	at := f.renewed.Load()
	return at != nil && f.now().Sub(*at) >= leaseDuration-onItsWay
}

// writesLease tells whether a request makes or renews the Lease. Only a replica that leads, or is to lead, sends one.
func writesLease(r *http.Request) bool {
	_, name, ok := strings.Cut(r.URL.Path, "/leases")
	return ok && (name == "" || name == "/"+leaseName)
}
