package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

// flooded is a handler behind a guard. The API server of the guard counts the reviews, and the clock stands still.
type flooded struct {
	*reviewer
	clock *testingclock.FakePassiveClock
	get   func(from, token string) int
}

func flood(t *testing.T) *flooded {
	t.Helper()
	f := &flooded{reviewer: &reviewer{}, clock: testingclock.NewFakePassiveClock(time.Now())}
	server := httptest.NewServer(f.reviewer)
	t.Cleanup(server.Close)
	g, err := guardAt(f.clock, &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	handler := g.protect(testr.New(t), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	f.get = func(from, token string) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		req.RemoteAddr = from + ":1234"
		req.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	return f
}

// random sends count requests with different unknown tokens, in turn from the given number of addresses.
func (f *flooded) random(count, addresses int) {
	for i := range count {
		f.get(fmt.Sprintf("10.0.%d.%d", i%addresses/256, i%addresses%256), fmt.Sprintf("random-%d", i))
	}
}

// TestRandomTokensAreBounded: random tokens cost the API server a bounded number of reviews. A client with a known token
// still gets the metrics.
func TestRandomTokensAreBounded(t *testing.T) {
	const many = 4 * guardEntries
	for title, tc := range map[string]struct{ addresses, reviews int }{
		"from one address":    {1, guardBurstOfOne},
		"from many addresses": {1000, guardBurst},
	} {
		t.Run(title, func(t *testing.T) {
			f := flood(t)
			if got := f.get("10.1.0.1", "prometheus"); got != http.StatusOK {
				t.Fatalf("got %d", got)
			}
			*f.reviewer = reviewer{}
			f.random(many, tc.addresses)
			if f.tokens > tc.reviews {
				t.Errorf("%d reviews of %d random tokens, want %d at most", f.tokens, many, tc.reviews)
			}
			*f.reviewer = reviewer{}
			if got := f.get("10.1.0.1", "prometheus"); got != http.StatusOK || f.tokens > 0 {
				t.Errorf("who was known gets %d, after %d reviews", got, f.tokens)
			}

			// After guardYes, the guard requests a new review of the known token, even during a flood of random tokens.
			f.clock.SetTime(f.clock.Now().Add(guardYes + time.Second))
			f.random(many, tc.addresses)
			*f.reviewer = reviewer{}
			if got := f.get("10.1.0.1", "prometheus"); got != http.StatusOK || f.tokens != 1 || f.rights != 1 {
				t.Errorf("who was known gets %d, after %+v", got, *f.reviewer)
			}
		})
	}
}

// TestANewTokenBesideAFlood: a flood from one address does not block the review of a new token from a second address.
func TestANewTokenBesideAFlood(t *testing.T) {
	f := flood(t)
	f.random(100, 1)
	if got := f.get("10.1.0.1", "prometheus"); got != http.StatusOK {
		t.Errorf("got %d", got)
	}
	if got := f.get("10.0.0.0", "other"); got != http.StatusTooManyRequests {
		t.Errorf("whoever floods gets %d", got)
	}
	f.clock.SetTime(f.clock.Now().Add(2 * time.Second))
	if got := f.get("10.0.0.0", "other"); got != http.StatusForbidden {
		t.Errorf("after a while got %d", got)
	}
}

// TestAKnownTokenEnds: the limits for unknown tokens apply to a known token after its revocation.
func TestAKnownTokenEnds(t *testing.T) {
	f := flood(t)
	if got := f.get("10.1.0.1", "prometheus"); got != http.StatusOK {
		t.Fatalf("got %d", got)
	}
	f.revoked = true
	f.clock.SetTime(f.clock.Now().Add(guardYes + time.Second))
	for range 3 {
		if got := f.get("10.1.0.1", "prometheus"); got != http.StatusUnauthorized {
			t.Errorf("got %d", got)
		}
	}
	if f.tokens != 2 {
		t.Errorf("%d reviews, want 2", f.tokens)
	}
	f.random(4*guardEntries, 1000)
	*f.reviewer = reviewer{revoked: true}
	for range 100 {
		f.get("10.1.0.1", "prometheus")
		f.random(guardEntries+1, 1)
	}
	if f.tokens > 0 {
		t.Errorf("%d reviews beyond the bound", f.tokens)
	}
}
