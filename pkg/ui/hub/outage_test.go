package hub

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/ui"
)

// line is a proxy to the API server that can fail.
type line struct {
	*httptest.Server

	// broken returns the kind of failure for a request; empty for none.
	broken atomic.Pointer[func(*http.Request) string]
}

// newLine returns a line without failures.
func newLine(t *testing.T) *line {
	t.Helper()
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	l := &line{}
	l.is("", "")
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch (*l.broken.Load())(r) {
		case "":
			proxy.ServeHTTP(w, r)
		case "cut":
			panic(http.ErrAbortHandler)
		case "silent":
			<-r.Context().Done()
		case "ill":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// is makes later requests fail if their address contains text. An empty how ends the failure.
func (l *line) is(how, text string) {
	broken := func(r *http.Request) string {
		if strings.Contains(r.URL.Path, text) {
			return how
		}
		return ""
	}
	l.broken.Store(&broken)
}

// TestOutage checks an unreachable, silent or unhealthy API server. The pages show the last known state and its age,
// and then recover.
func TestOutage(t *testing.T) {
	ctx := t.Context()
	create(ctx, t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "outage"}})
	app := anApplication("outage", "set", "cluster5")
	create(ctx, t, app)
	l := newLine(t)
	one, err := NewOne(ctx, &rest.Config{Host: l.URL, QPS: -1}, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(ui.Handler(one))
	defer server.Close()
	const (
		page         = "/?namespace=outage"
		applications = "Applications in namespace outage are from "
		clusters     = "ManagedClusters are from "
	)
	shows(ctx, t, server, "", page, "outage/set on cluster5: well")

	for _, tc := range []struct{ how, text, notice string }{
		{"cut", "", applications},
		{"cut", "/managedclusters", clusters},
		{"ill", "/applications", applications},
		{"silent", "", applications},
	} {
		began := time.Now()
		l.is(tc.how, tc.text)
		if tc.how == "cut" {
			l.CloseClientConnections()
		}
		body := shows(ctx, t, server, "", page, tc.notice)
		_, after, _ := strings.Cut(body, tc.notice)
		since, err := time.Parse("2006-01-02 15:04:05Z", after[:20])
		if err != nil || since.After(began.Add(10*time.Second)) || since.Before(began.Add(-time.Minute)) { // an earlier watch lasts 2 s
			t.Errorf("%s %s: since %v, %v; it began at %v", tc.how, tc.text, since, err, began)
		}
		if !strings.Contains(body, "outage/set on cluster5") {
			t.Errorf("%s %s: does not show what was known:\n%s", tc.how, tc.text, body)
		}
		health := map[bool]string{true: "Degraded", false: "Healthy"}[app.Status.Health.Status == "Healthy"]
		before := app.DeepCopy()
		app.Status.Health.Status = health
		if err := admin.Patch(ctx, app, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		l.is("", "")
		gone(t, server, page, tc.notice)
		shows(ctx, t, server, "", page, map[string]string{"Degraded": "outage/set on cluster5: stopped", "Healthy": "outage/set on cluster5: well"}[health])
	}
}

// gone waits until a page no longer has a text.
func gone(t *testing.T, server *httptest.Server, address, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		code, body := look(t.Context(), t, server.URL, "", address)
		if code == http.StatusOK && !strings.Contains(body, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s still shows %q: %d\n%s", address, text, code, body)
		}
	}
}

// TestFirstListFails checks the page while the first list fails: the page shows the failure, and later the whole
// content.
func TestFirstListFails(t *testing.T) {
	ctx := t.Context()
	create(ctx, t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
	create(ctx, t, anApplication("late", "set", "cluster6"))
	l := newLine(t)
	l.is("ill", "")
	one, err := NewOne(ctx, &rest.Config{Host: l.URL, QPS: -1}, Flags{ArgoCDNamespace: apis.DefaultArgoCDNamespace})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(ui.Handler(one))
	defer server.Close()
	shows(ctx, t, server, "", "/?namespace=late", "Cannot list Applications in namespace late")
	l.is("", "")
	shows(ctx, t, server, "", "/?namespace=late", "late/set on cluster6: well")
}
