package main

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	leasePath = "/apis/coordination.k8s.io/v1/namespaces/argocd/leases/" + leaseName
	tokenPath = "/apis/authentication.k8s.io/v1/tokenreviews"
	workPath  = "/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks"
)

type answers int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

// TestFence: a replica that has led writes only as long as its Lease lasts.
func TestFence(t *testing.T) {
	type step struct {
		after        time.Duration
		method, path string
		code         int
	}
	renew := step{0, http.MethodPut, leasePath, http.StatusOK}
	writes := step{time.Second, http.MethodPost, workPath, http.StatusCreated}
	for name, tc := range map[string]struct {
		steps   []step
		refused bool
	}{
		"a replica that never led may ask who reads metrics": {[]step{{time.Hour, http.MethodPost, tokenPath, 201}}, false},
		"the leader writes":                      {[]step{renew, {13 * time.Second, http.MethodPost, workPath, 201}}, false},
		"it does not when its Lease has run out": {[]step{renew, {14 * time.Second, http.MethodPost, workPath, 201}}, true},
		"nor when it was frozen":                 {[]step{renew, {time.Hour, http.MethodDelete, workPath + "/x", 200}}, true},
		"it reads":                               {[]step{renew, {time.Hour, http.MethodGet, workPath, 200}}, false},
		"it may lead again":                      {[]step{renew, {time.Hour, http.MethodPut, leasePath, 200}, writes}, false},
		"a renewal that is refused is none":      {[]step{renew, {13 * time.Second, http.MethodPut, leasePath, 409}, writes}, true},
		"another Lease is a write like others":   {[]step{renew, {time.Hour, http.MethodPut, leasePath + "-2", 200}}, true},
		"the Lease is made": {
			[]step{{0, http.MethodPost, leasePath[:len(leasePath)-len(leaseName)-1], 201}, {time.Hour, http.MethodPost, workPath, 201}}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			renewed := &atomic.Pointer[time.Time]{}
			var err error
			for _, s := range tc.steps {
				now = now.Add(s.after)
				r, e := http.NewRequestWithContext(t.Context(), s.method, "https://hub"+s.path, http.NoBody)
				if e != nil {
					t.Fatal(e)
				}
				var answer *http.Response
				f := &fence{answers(s.code), renewed, func() time.Time { return now }}
				if answer, err = f.RoundTrip(r); answer != nil {
					answer.Body.Close()
				}
			}
			if got := errors.Is(err, errNotLeading); got != tc.refused {
				t.Errorf("the last is refused: %t, want %t", got, tc.refused)
			}
		})
	}
}

// TestFenced: the clients of a manager, and the one that renews the Lease, know of each other.
func TestFenced(t *testing.T) {
	config := &rest.Config{Host: "https://hub"}
	fenced(config)
	one, ok := config.WrapTransport(answers(200)).(*fence)
	other, is := rest.CopyConfig(config).WrapTransport(answers(200)).(*fence)
	if !ok || !is || one.renewed != other.renewed {
		t.Errorf("%v and %v", one, other)
	}
}
