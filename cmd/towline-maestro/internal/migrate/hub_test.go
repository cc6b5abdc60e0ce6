package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
)

// api is a fake API server of a hub with configured answers and a record of the write requests.
type api struct {
	service  string            // the spec of the APIService
	version  string            // the resourceVersion of lists
	refuses  map[string]string // the reason of the failure, by HTTP method
	requests []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path == apiService:
		fmt.Fprintf(w, `{"spec": %s}`, a.service)
		return
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"kind": "ManifestWorkList", "apiVersion": "work.open-cluster-management.io/v1", "metadata": {"resourceVersion": %q}}`, a.version)
		return
	}
	_, what, _ := strings.Cut(r.URL.Path, "/manifestworks")
	a.requests = append(a.requests, r.Method+" "+what+" "+said(body))
	if reason := a.refuses[r.Method]; reason != "" {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": 409}`, reason)
		return
	}
	_, _ = w.Write(later(body))
}

// said returns the tested parts of a request's body.
func said(body []byte) string {
	var got struct {
		Metadata      metav1.ObjectMeta
		Preconditions *metav1.Preconditions
		Status        struct{ Conditions []metav1.Condition }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return err.Error()
	}
	if p := got.Preconditions; p != nil {
		return fmt.Sprintf("only %s %s", *p.UID, *p.ResourceVersion)
	}
	out := fmt.Sprintf("version %q, %d finalizers", got.Metadata.ResourceVersion, len(got.Metadata.Finalizers))
	for _, c := range got.Status.Conditions {
		out += fmt.Sprintf(", %s of %d", c.Type, c.ObservedGeneration)
	}
	return out
}

// later returns a work after a write: with a new resourceVersion, generation and UID.
func later(body []byte) []byte {
	var w workv1.ManifestWork
	_ = json.Unmarshal(body, &w)
	w.ResourceVersion, w.Generation, w.UID = "8", 5, "uid"
	out, _ := json.Marshal(&w)
	return out
}

func hubOf(t *testing.T, a *api) *Hub {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	hub, err := NewHub(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return hub
}

func TestReady(t *testing.T) {
	if err := hubOf(t, &api{service: `{}`, version: "12345"}).Ready(t.Context()); err != nil {
		t.Errorf("etcd is served, and it says %v", err)
	}
	if err := hubOf(t, &api{service: `{"service": {"name": "towline-maestro"}}`, version: "12345"}).Ready(t.Context()); !errors.Is(err, errServed) {
		t.Errorf("another server serves works, and it says %v", err)
	}
}

// TestList: List refuses an answer of towline-maestro. Of several API servers, a server may not know the deletion of
// the APIService yet.
func TestList(t *testing.T) {
	if _, err := hubOf(t, &api{version: "1764086400000000000"}).List(t.Context(), nil); !errors.Is(err, errServed) {
		t.Errorf("towline-maestro has answered, and it says %v", err)
	}
}

func TestWrite(t *testing.T) {
	versioned := func(w *workv1.ManifestWork) {
		w.ResourceVersion, w.Finalizers = "7", []string{workv1.ManifestWorkFinalizer}
	}
	for name, tc := range map[string]struct {
		step Step
		want []string
	}{
		"a new work that the agent has applied": {
			step: Step{Verb: Create, From: makeWork("a", applied("True", 3))},
			want: []string{`POST  version "", 1 finalizers`, `PUT /a/status version "8", 1 finalizers, Applied of 5`},
		},
		"a new work that no agent has seen": {
			step: Step{Verb: Create, From: makeWork("a")},
			want: []string{`POST  version "", 1 finalizers`},
		},
		"another spec": {
			step: Step{Verb: Update, From: makeWork("a", labelled, applied("True", 2)), To: makeWork("a", versioned)},
			want: []string{`PUT /a version "7", 1 finalizers`, `PUT /a/status version "8", 1 finalizers, Applied of 4`},
		},
		"another status": {
			step: Step{Verb: Keep, From: makeWork("a", applied("True", 3)), To: makeWork("a", versioned)},
			want: []string{`PUT /a/status version "7", 1 finalizers, Applied of 3`},
		},
		"nothing else": {
			step: Step{Verb: Keep, From: makeWork("a", applied("True", 3)), To: makeWork("a", versioned, applied("True", 3))},
		},
		"no longer wanted": {
			step: Step{Verb: Remove, To: makeWork("a", versioned)},
			want: []string{`PUT /a version "7", 0 finalizers`, `DELETE /a only uid 8`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			if err := hubOf(t, a).write(t.Context(), tc.step); err != nil {
				t.Fatal(err)
			}
			if got, want := strings.Join(a.requests, "\n"), strings.Join(tc.want, "\n"); got != want {
				t.Errorf("asked\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestForget: a work with a change since the read is not removed.
func TestForget(t *testing.T) {
	a := &api{refuses: map[string]string{http.MethodDelete: "Conflict"}}
	err := hubOf(t, a).forget(t.Context(), makeWork("a"))
	if err == nil || !strings.Contains(err.Error(), "the agent still reads works from the hub") {
		t.Errorf("it says %v", err)
	}
}
