package main

import (
	"net/http"
	"sync/atomic"
	"time"
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

// fence has clients write only as long as the tenure lasts. A process that was frozen goes on where it stopped, with the writes that it
// was about to make, before it learns that another leads. A replica that has never led may write: it asks who reads its metrics.
func (t *tenure) fence(next http.RoundTripper) http.RoundTripper { return &fence{t, next} }

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
