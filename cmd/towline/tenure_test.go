package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

type answers int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

// TestFence: a replica that has led writes only as long as its tenure lasts.
func TestFence(t *testing.T) {
	renew := func(now time.Time, of *tenure) { of.renew(now) }
	for name, tc := range map[string]struct {
		before  func(now time.Time, of *tenure)
		after   time.Duration
		method  string
		refused bool
	}{
		"a replica that never led may ask who reads metrics": {func(time.Time, *tenure) {}, time.Hour, http.MethodPost, false},
		"the leader writes":                      {renew, 13 * time.Second, http.MethodPost, false},
		"it does not when its Lease has run out": {renew, 14 * time.Second, http.MethodPost, true},
		"nor when it was frozen":                 {renew, time.Hour, http.MethodDelete, true},
		"it reads":                               {renew, time.Hour, http.MethodGet, false},
		"nor when it has given its Lease up": {func(now time.Time, of *tenure) {
			of.renew(now)
			of.end()
		}, 0, http.MethodPatch, true},
		"it may lead again": {func(now time.Time, of *tenure) {
			of.renew(now.Add(-time.Hour))
			of.renew(now)
		}, time.Second, http.MethodPost, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			of := &tenure{now: func() time.Time { return now.Add(tc.after) }}
			tc.before(now, of)
			config := &rest.Config{Host: "https://hub"}
			config.Wrap(of.fence)
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
