package envtest_test

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// slowBy is the maximum lag between Towline and the hub, in both directions. A test that passes only while Towline is
// faster than the test fails with a lag. Without the flag, a busy machine shows such a failure once in many runs.
var slowBy = flag.Duration("slow", 0, "let each write of Towline take up to `this` long more, and each watch lag by as much")

// slowed makes a client lag according to -slow: its writes wait before the hub carries them out, and the answers wait
// afterwards.
func slowed(next http.RoundTripper) http.RoundTripper {
	if *slowBy == 0 {
		return next
	}
	return transport(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Query().Get("watch") != "":
			answer, err := next.RoundTrip(r)
			if err == nil {
				answer.Body = &lagging{ReadCloser: answer.Body, ctx: r.Context()}
			}
			return answer, err
		case r.Method == http.MethodGet:
			return next.RoundTrip(r)
		}
		before := rand.N(*slowBy)
		pause(r.Context(), before)
		answer, err := next.RoundTrip(r)
		pause(r.Context(), rand.N(*slowBy-before))
		return answer, err
	})
}

// lagging delays the events of a watch. Events soon after a delayed event do not wait again: a busy watch lags no more
// than a quiet watch.
type lagging struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // the context of the request with this body
	last time.Time
}

func (l *lagging) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if time.Since(l.last) > *slowBy {
		pause(l.ctx, rand.N(*slowBy))
		l.last = time.Now()
	}
	return n, err
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
