package main

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

type answers int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

// TestFence checks that a former leader writes only during the tenure.
func TestFence(t *testing.T) {
	renew := func(now time.Time, of *tenure) { of.renew(now) }
	for name, tc := range map[string]struct {
		before  func(now time.Time, of *tenure)
		after   time.Duration
		method  string
		refused bool
	}{
		"a replica that never led may ask who reads metrics": {func(time.Time, *tenure) {}, time.Hour, http.MethodPost, false},
		"the leader writes":     {renew, 13 * time.Second, http.MethodPost, false},
		"the Lease has run out": {renew, 14 * time.Second, http.MethodPost, true},
		"the leader was frozen": {renew, time.Hour, http.MethodDelete, true},
		"a former leader reads": {renew, time.Hour, http.MethodGet, false},
		"the leader has released the Lease": {func(now time.Time, of *tenure) {
			of.renew(now)
			of.end()
		}, 0, http.MethodPatch, true},
		"the leader leads again": {func(now time.Time, of *tenure) {
			of.renew(now.Add(-time.Hour))
			of.renew(now)
		}, time.Second, http.MethodPost, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			of := &tenure{now: func() time.Time { return now.Add(tc.after) }}
			tc.before(now, of)
			config := &rest.Config{Host: "https://hub"}
			of.fence(config)
			r, err := http.NewRequestWithContext(t.Context(), tc.method, "https://hub/apis/x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := config.WrapTransport(answers(http.StatusOK)).RoundTrip(r)
			if answer != nil {
				answer.Body.Close()
			}
			if got := errors.Is(err, errNotLeading); got != tc.refused {
				t.Errorf("refused: %t, want %t", got, tc.refused)
			}
		})
	}
}

// endsTenure is a body whose first read ends the tenure, after the check of the request.
type endsTenure struct {
	io.Reader

	of *tenure
}

func (e endsTenure) Read(b []byte) (int, error) {
	e.of.end()
	return e.Reader.Read(b)
}

// TestFenceAtTheConnection checks that a write that waits between the check of the request and the connection does
// not arrive.
func TestFenceAtTheConnection(t *testing.T) {
	arrived := make(chan string, 2)
	hub := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			arrived <- string(body)
		}
	}))
	hub.EnableHTTP2 = true
	hub.StartTLS()
	t.Cleanup(hub.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hub.Certificate().Raw})
	config := &rest.Config{Host: hub.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
	of := newTenure()
	of.fence(config)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	post := func(body io.Reader) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hub.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err
	}
	of.renew(time.Now())
	if err := post(strings.NewReader("in time")); err != nil {
		t.Fatalf("the leader cannot write: %v", err)
	}
	if got := <-arrived; got != "in time" {
		t.Fatalf("%q arrived", got)
	}
	if err := post(endsTenure{strings.NewReader("too late"), of}); !errors.Is(err, errNotLeading) {
		t.Errorf("a write after the tenure ended with %v", err)
	}
	client.CloseIdleConnections()
	hub.Close() // waits for the arrived requests
	select {
	case got := <-arrived:
		t.Errorf("%q arrived after the tenure", got)
	default:
	}
}
