package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr/testr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// reviewer is an API server with a counter of the reviews. reviewer accepts the tokens "prometheus" and "other" until
// the revocation. Only the user of "prometheus" may get /metrics.
type reviewer struct {
	tokens, rights int
	revoked        bool
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var answer any
	switch req.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		r.tokens++
		review := &authenticationv1.TokenReview{}
		if json.NewDecoder(req.Body).Decode(review) != nil || review.Spec.Token == "broken" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		review.Status.Authenticated = !r.revoked && (review.Spec.Token == "prometheus" || review.Spec.Token == "other")
		review.Status.User = authenticationv1.UserInfo{
			Username: review.Spec.Token, Groups: []string{"monitoring"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
		}
		answer = review
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		r.rights++
		review := &authorizationv1.SubjectAccessReview{}
		if json.NewDecoder(req.Body).Decode(review) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s, asked := review.Spec, review.Spec.NonResourceAttributes
		review.Status.Allowed = s.User == "prometheus" && s.Groups[0] == "monitoring" && s.Extra["k"][0] == "v" &&
			asked.Verb == "get" && asked.Path == "/metrics"
		answer = review
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// guarded sends the request twice to a handler behind a guard. guarded returns the last HTTP status, and the number of
// reviews for both requests.
func guarded(t *testing.T, method, path, authorization string) (status int, reviews reviewer) {
	t.Helper()
	api := &reviewer{}
	server := httptest.NewServer(api)
	defer server.Close()
	filter, err := newGuard(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(testr.New(t), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		req.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		status = w.Code
	}
	return status, *api
}

func TestGuard(t *testing.T) {
	for title, tc := range map[string]struct {
		method, path, authorization string
		want                        int
		reviews                     reviewer
	}{
		"no token":                        {"GET", "/metrics", "", http.StatusUnauthorized, reviewer{}},
		"an empty token":                  {"GET", "/metrics", "Bearer ", http.StatusUnauthorized, reviewer{}},
		"not a token":                     {"GET", "/metrics", "Basic cHJvbWV0aGV1cw==", http.StatusUnauthorized, reviewer{}},
		"a token that nobody knows":       {"GET", "/metrics", "Bearer nobody", http.StatusUnauthorized, reviewer{tokens: 1, rights: 0}},
		"someone without the right":       {"GET", "/metrics", "Bearer other", http.StatusForbidden, reviewer{tokens: 1, rights: 1}},
		"another verb":                    {"POST", "/metrics", "Bearer prometheus", http.StatusForbidden, reviewer{tokens: 1, rights: 1}},
		"another path":                    {"GET", "/debug", "Bearer prometheus", http.StatusForbidden, reviewer{tokens: 1, rights: 1}},
		"someone with the right":          {"GET", "/metrics", "Bearer prometheus", http.StatusOK, reviewer{tokens: 1, rights: 1}},
		"an API server that does not say": {"GET", "/metrics", "Bearer broken", http.StatusInternalServerError, reviewer{tokens: 2, rights: 0}},
	} {
		t.Run(title, func(t *testing.T) {
			status, reviews := guarded(t, tc.method, tc.path, tc.authorization)
			if status != tc.want || reviews != tc.reviews {
				t.Errorf("%d after %+v; want %d after %+v", status, reviews, tc.want, tc.reviews)
			}
		})
	}
}
