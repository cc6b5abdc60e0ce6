package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

// knower is an API server without a network. knower accepts two tokens until their revocation: "prometheus", with the
// right to get /metrics, and "other", without any right.
type knower struct {
	authenticationclient.TokenReviewInterface
	authorizationclient.SubjectAccessReviewInterface
	clock   *testingclock.FakePassiveClock
	revoked bool
	asked   []time.Time
}

// tokens and rights are the two clients of a guard.
type (
	tokens struct{ *knower }
	rights struct{ *knower }
)

// Create implements TokenReviewInterface.
func (k tokens) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	k.asked = append(k.asked, k.clock.Now())
	if r.Spec.Token == "broken" {
		return nil, errors.New("broken")
	}
	r.Status.Authenticated = !k.revoked && (r.Spec.Token == "prometheus" || r.Spec.Token == "other")
	r.Status.User.Username = r.Spec.Token
	return r, nil
}

// Create implements SubjectAccessReviewInterface.
func (k rights) Create(
	_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	asked := r.Spec.NonResourceAttributes
	r.Status.Allowed = r.Spec.User == "prometheus" && asked.Verb == "get" && asked.Path == "/metrics"
	return r, nil
}

// FuzzGuard: for every order of requests, the guard passes only requests with a right. A revoked token passes for a
// minute at most. The reviews of unknown tokens stay within the limits.
func FuzzGuard(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 0, 0x80, 0x81, 0xff, 0}, "GET", "/metrics", "Bearer x")
	f.Add(slices.Repeat([]byte{0, 6, 7, 8, 0x8f}, 60), "POST", "/debug", "bearer prometheus")
	f.Add([]byte{2}, "PUT", "/metrics", "Bearer prometheus")
	f.Add([]byte{5, 0, 0xff, 0, 1, 5}, "get", "//metrics/", "Bearer prometheus ")
	f.Fuzz(func(t *testing.T, script []byte, method, path, authorization string) {
		if len(script) > 500 {
			return
		}
		clock := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
		know := &knower{clock: clock}
		g, err := guardAt(clock, &rest.Config{Host: "https://127.0.0.1:1"}, http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		g.tokens, g.rights = tokens{know}, rights{know}
		handler := g.protect(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		ask := func(from int, method, path, authorization string) int {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			req.Method, req.URL.Path, req.RemoteAddr = method, path, fmt.Sprintf("10.0.0.%d:1", from)
			req.Header["Authorization"] = []string{authorization}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			return w.Code
		}
		var revoked, known time.Time
		for i, b := range script {
			switch {
			case b >= 0x80:
				clock.SetTime(clock.Now().Add(time.Duration(b-0x80) * time.Second))
			case b == 5 && revoked.IsZero():
				know.revoked, revoked = true, clock.Now()
			case b%8 == 0:
				before := len(know.asked)
				code := ask(1, "GET", "/metrics", "Bearer prometheus")
				late := !revoked.IsZero() && clock.Now().Sub(revoked) > guardYes
				remembered := !known.IsZero() && revoked.IsZero() && clock.Now().Sub(known) < guardKnown
				if code == http.StatusOK && late || code != http.StatusOK && remembered {
					t.Fatalf("request %d of who may: %d; revoked %v, known %v, now %v", i, code, revoked, known, clock.Now())
				}
				if code == http.StatusOK && len(know.asked) > before {
					known = clock.Now()
					know.asked = know.asked[:before] // the review of a known token does not count
				}
			case b%8 == 1:
				if code := ask(2, "GET", "/metrics", "Bearer other"); code == http.StatusOK {
					t.Fatalf("request %d of who may not: %d", i, code)
				}
			case b%8 == 2:
				if code := ask(3, method, path, authorization); code == http.StatusOK &&
					(authorization != "Bearer prometheus" || path != "/metrics" || !strings.EqualFold(method, "get")) {
					t.Fatalf("request %d: %q %q with %q: %d", i, method, path, authorization, code)
				}
			default:
				if code := ask(int(b), "GET", "/metrics", fmt.Sprintf("Bearer stranger-%d-%d", b, i)); code != http.StatusUnauthorized &&
					code != http.StatusTooManyRequests {
					t.Fatalf("request %d of a stranger: %d", i, code)
				}
			}
		}
		bounded(t, know.asked)
	})
}

// bounded checks that no period has more reviews than the burst and the rate permit.
func bounded(t *testing.T, asked []time.Time) {
	t.Helper()
	for i, first := range asked {
		for n, last := range asked[i:] {
			if most := guardBurst + guardRate*last.Sub(first).Seconds() + 1; float64(n+1) > most {
				t.Fatalf("%d questions within %s", n+1, last.Sub(first))
			}
		}
	}
}
