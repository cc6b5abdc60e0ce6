package main

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// onItsWay is how long before its Lease runs out a replica stops writing: a write that is sent then has time to arrive.
const onItsWay = time.Second

// A tenure is for how long a replica leads.
type tenure struct {
	// renewed is when the last renewal that succeeded was asked for; nil for a replica that has never led.
	renewed atomic.Pointer[time.Time]

	now func() time.Time
}

func newTenure() *tenure { return &tenure{now: time.Now} }

func (t *tenure) renew(at time.Time) { t.renewed.Store(&at) }

// end ends a tenure before its time.
func (t *tenure) end() { t.renewed.Store(&time.Time{}) }

// isOver tells whether another replica may lead by now, where this one has led.
func (t *tenure) isOver() bool {
	at := t.renewed.Load()
	return at != nil && t.now().Sub(*at) >= leaseDuration-onItsWay
}

// fence has the clients of a configuration write only as long as the tenure lasts. A process that was frozen goes on where it stopped,
// with the writes that it was about to make, before it learns that another leads. So each request is looked at, for a clear error, and
// then each piece that goes to a connection: a request may have waited between the two. A replica that has never led may write: it asks
// who reads its metrics.
func (t *tenure) fence(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{t, next} })
	config.Dial = t.dial
}

type fence struct {
	tenure *tenure
	next   http.RoundTripper
}

// RoundTrip is that of http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && f.tenure.isOver() {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper has to
		}
		return nil, errNotLeading
	}
	return f.next.RoundTrip(r)
}

// dial opens a connection with the limits of client-go's own.
func (t *tenure) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &fencedConn{conn, t}, nil
}

// fencedConn sends nothing more after the tenure, not even reads: whether encrypted bytes read or write cannot be told.
type fencedConn struct {
	net.Conn

	tenure *tenure
}

// Write is that of net.Conn.
func (c *fencedConn) Write(b []byte) (int, error) {
	if c.tenure.isOver() {
		return 0, errNotLeading
	}
	return c.Conn.Write(b)
}
