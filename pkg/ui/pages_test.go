package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/view"
)

// small returns a fleet with an example of every state.
func small() *fake {
	gone := app("team", "b", "c2", "Healthy")
	at := metav1.Unix(1_700_000_000, 0)
	gone.DeletionTimestamp = &at
	return &fake{
		apps: []*argocd.Application{
			app("argocd", "guestbook", "c1", "Healthy"), app("argocd", "guestbook", "c2", "Degraded"), app("argocd", "guestbook", "c3", "Progressing"), gone,
		},
		managed: []clusterv1.ManagedCluster{managed("c1", "eu"), managed("c2", "us"), managed("c3", "eu")},
		steps:   []view.Step{{Application: "c1-guestbook", Step: "1", Status: "Healthy"}, {Application: "c2-guestbook", Step: "2", Status: "Waiting"}},
		orphans: []Orphan{{Cluster: "c3", Work: "w", Application: "argocd/lost", Since: "2026-01-02T03:04:05Z"}},
	}
}

// addresses are the addresses of all pages.
var addresses = map[string]string{
	"fleet": "/?group=region", "set": "/sets/argocd/guestbook", "application": "/applications/argocd/c2-guestbook", "clusters": "/clusters",
	"cluster": "/clusters/c2", "attention": "/attention",
}

func open(t *testing.T, h http.Handler, method, address string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, address, nil))
	return w
}

// TestPages compares each page with its golden file.
func TestPages(t *testing.T) {
	h := Handler(small())
	for name, address := range addresses {
		w := open(t, h, http.MethodGet, address)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", address, w.Code, w.Body)
		}
		body := w.Body.String()
		_, after, _ := strings.Cut(body, `data-digest="`)
		digest, _, _ := strings.Cut(after, `"`)
		golden.Equal(t, name+".golden.html", []byte(strings.Replace(body, digest, "DIGEST", 1)))
	}
}

// TestHeaders checks that no page, asset or error page can be framed or load foreign content, and that writes are
// refused.
func TestHeaders(t *testing.T) {
	h := Handler(small())
	all := []string{"/assets/page.js", "/assets/style.css", "/nothing", "/applications/argocd/none"}
	for _, address := range addresses {
		all = append(all, address)
	}
	for _, address := range all {
		w := open(t, h, http.MethodGet, address)
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", address, w.Header())
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another site may read it", address)
		}
		for _, inline := range []string{"<style", " style=", " onclick=", "javascript:", "http://", "https://"} {
			if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && strings.Contains(w.Body.String(), inline) {
				t.Errorf("%s has %q, which the policy forbids", address, inline)
			}
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
			if w := open(t, h, method, address); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, address, w.Code)
			}
		}
	}
}

// TestHostileText checks that text from clusters stays text, is cut, and does not affect its neighbours.
func TestHostileText(t *testing.T) {
	evil := `</td><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u202e\u2066\x1b[31m"
	a := app("argocd", "guestbook", "c1", "Degraded")
	a.Status.Health.Message = evil + strings.Repeat("A", 1<<20)
	a.Status.Sync.Revision = evil
	a.Status.Conditions = []argocd.Condition{
		{Type: evil, Message: evil + strings.Repeat("B", 1<<20)}, {Type: apis.ConditionWorkApplyError, Message: evil},
	}
	a.Status.Resources = []argocd.ResourceStatus{{Kind: evil, Name: evil, Status: evil, Health: &argocd.Health{Status: "Degraded", Message: evil}}}
	a.Status.OperationState = &argocd.OperationState{Phase: evil, Message: evil}
	b := app("argocd", "guestbook", evil, "Degraded")
	h := Handler(&fake{apps: []*argocd.Application{a, b}, managed: []clusterv1.ManagedCluster{managed("c1", evil)},
		unread: []string{evil}, orphans: []Orphan{{Cluster: evil, Application: evil}}})
	for _, address := range []string{"/?group=region&set=%3Cscript%3E", "/?group=region", "/sets/argocd/guestbook", "/applications/argocd/c1-guestbook",
		"/clusters", "/clusters/c1", "/attention", "/clusters/%3Cscript%3E", "/?namespace=%22%3E%3Cscript%3E"} {
		body := open(t, h, http.MethodGet, address).Body.String()
		for _, bad := range []string{"<script>", "<img", "\u202e", "\u2066", "\x1b"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q", address, bad)
			}
		}
		if len(body) > 200_000 {
			t.Errorf("%s has %d bytes", address, len(body))
		}
	}
}

// TestProblems checks that a filtered page shows only problems.
func TestProblems(t *testing.T) {
	body := open(t, Handler(small()), http.MethodGet, "/?problems=1&set=guestbook").Body.String()
	if strings.Contains(body, `id="c-c1"`) || !strings.Contains(body, `id="c-c2"`) || !strings.Contains(body, `id="c-c3"`) {
		t.Error(body)
	}
}

// TestUnread checks that the page names unreadable objects and offers a choice of namespaces.
func TestUnread(t *testing.T) {
	body := open(t, Handler(&fake{unread: []string{"You may not list Applications of all namespaces."}}), http.MethodGet, "/").Body.String()
	if !strings.Contains(body, "You may not list Applications") || !strings.Contains(body, `name="namespace"`) {
		t.Error(body)
	}
}

// TestStream checks that a change sends the changed line, and that a page with other lines is sent as a whole.
func TestStream(t *testing.T) {
	f := small()
	server := httptest.NewServer(Handler(f))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/?group=region", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	next := func() (event, data string) {
		for lines.Scan() {
			if e, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				event = e
			}
			if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return event, d
			}
		}
		t.Fatal("the stream has ended")
		return "", ""
	}
	if event, _ := next(); event != "hello" {
		t.Fatal(event)
	}
	f.change(func() { f.apps[0] = app("argocd", "guestbook", "c1", "Degraded") })
	event, data := next()
	var parts []part
	if err := json.Unmarshal([]byte(data), &parts); err != nil || event != "patch" {
		t.Fatal(event, data, err)
	}
	ids := ""
	for _, p := range parts {
		ids += p.ID + " "
	}
	if ids != "counts g-eu c-c1 " {
		t.Errorf("got %s", ids)
	}
	f.change(func() { f.apps = append(f.apps, app("argocd", "guestbook", "c4", "Healthy")) })
	if event, _ := next(); event != "reload" {
		t.Error(event)
	}
}
