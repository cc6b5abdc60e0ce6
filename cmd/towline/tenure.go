package main

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// onItsWay is how long before the end of its Lease a replica stops writing. A sent write then has time to arrive.
const onItsWay = time.Second

// tenure is the time in which a replica leads.
type tenure struct {
	// renewed is the start time of the last successful renewal; nil for a replica that has never led.
	renewed atomic.Pointer[time.Time]

	now func() time.Time
}

func newTenure() *tenure { return &tenure{now: time.Now} }

func (t *tenure) renew(at time.Time) { t.renewed.Store(&at) }

// end ends a tenure early.
func (t *tenure) end() { t.renewed.Store(&time.Time{}) }

// isOver reports whether a former leader must assume a new leader.
func (t *tenure) isOver() bool {
	at := t.renewed.Load()
	return at != nil && t.now().Sub(*at) >= leaseDuration-onItsWay
}

// fence lets the clients of a configuration write only during the tenure. A frozen process continues with its next
// writes before it learns about a new leader. Therefore fence checks each request, for a clear error, and again each
// piece of data for a connection: a request may wait between both checks. A replica that has never led may write: it
// sends reviews for the readers of its metrics.
func (t *tenure) fence(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{t, next} })
	config.Dial = t.dial
}

type fence struct {
	tenure *tenure
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && f.tenure.isOver() {
		if r.Body != nil {
			_ = r.Body.Close() // every RoundTripper must close the body
		}
		return nil, errNotLeading
	}
	return f.next.RoundTrip(r)
}

// dial opens a connection with the timeouts of client-go.
func (t *tenure) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &fencedConn{conn, t}, nil
}

// fencedConn sends no data after the tenure, not even for reads: encrypted data does not show whether a request
// writes.
type fencedConn struct {
	net.Conn

	tenure *tenure
}

// Write implements net.Conn.
func (c *fencedConn) Write(b []byte) (int, error) {
	if c.tenure.isOver() {
		return 0, errNotLeading
	}
	return c.Conn.Write(b)
}
