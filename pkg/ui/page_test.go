package ui

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// builders are the builders of the pages in addresses.
var builders = map[string]builder{
	"fleet": fleetPage, "set": setPage, "application": applicationPage, "clusters": clustersPage, "cluster": clusterPage, "attention": attentionPage,
}

// request returns a request for a page, as the server passes the request on.
func request(t *testing.T, name, address string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	parts := strings.Split(r.URL.Path, "/")
	r.SetPathValue("name", parts[len(parts)-1])
	if name == "set" || name == "application" {
		r.SetPathValue("namespace", parts[len(parts)-2])
	}
	return r
}

// changes are successive changes of a fleet.
var changes = []struct {
	title string
	do    func(f *fake)
}{
	{"nothing", func(*fake) {}},
	{"an Application gets worse", func(f *fake) { f.apps[0] = app("argocd", "guestbook", "c1", "Degraded") }},
	{"another message", func(f *fake) { f.apps[0].Status.Health.Message = "no pods" }},
	{"a time", func(f *fake) { f.apps[0].Status.ReconciledAt = "2026-02-02T03:04:05Z" }},
	{"one more on a cluster", func(f *fake) { f.apps = append(f.apps, app("argocd", "guestbook-2", "c1", "Healthy")) }},
	{"a new cluster in the middle", func(f *fake) { f.apps = append(f.apps, app("argocd", "guestbook", "c15", "Healthy")) }},
	{"a new set", func(f *fake) { f.apps = append(f.apps, app("argocd", "another", "c3", "Progressing")) }},
	{"an Application without a cluster", func(f *fake) { f.apps = append(f.apps, app("argocd", "guestbook", "", "Healthy")) }},
	{"it gets one", func(f *fake) { f.apps[len(f.apps)-1].Annotations[apis.AnnotationCluster] = "c2" }},
	{"a deletion", func(f *fake) { at := metav1.Unix(1_700_000_001, 0); f.apps[1].DeletionTimestamp = &at }},
	{"a deletion is done", func(f *fake) { f.apps = slices.Delete(f.apps, 4, 5) }},
	{"another label", func(f *fake) { f.managed[0] = managed("c1", "us") }},
	{"another version", func(f *fake) { f.managed[1].Status.Version.Kubernetes = "v1.36.0" }},
	{"a cluster is detached", func(f *fake) { f.managed = slices.Delete(f.managed, 2, 3) }},
	{"a right is lost", func(f *fake) { f.unread = []string{"You may not list ManagedClusters."} }},
	{"other orphans", func(f *fake) { f.orphans = nil }},
	{"nothing is left of a cluster", func(f *fake) { f.apps = slices.DeleteFunc(f.apps, onC3) }},
}

func onC3(a *argocd.Application) bool { return a.Cluster() == "c3" }

// TestChanges checks that an updated page equals a newly built page.
func TestChanges(t *testing.T) {
	for name, address := range addresses {
		for _, query := range []string{"", "problems=1", "set=guestbook&cluster=1"} {
			f := small()
			asked := address + "?" + query
			if strings.Contains(address, "?") {
				asked = address + "&" + query
			}
			r := request(t, name, asked)
			following := &page{key: pageKey{hub: f}, build: builders[name]}
			for _, c := range changes {
				f.change(func() { c.do(f) })
				got, want := html(t, following, r), html(t, &page{key: pageKey{hub: f}, build: builders[name]}, r)
				if got != want {
					t.Fatalf("%s after %s:\n%s\nwant\n%s", asked, c.title, got, want)
				}
			}
		}
	}
}

// html returns a page as text, or the text of its error.
func html(t *testing.T, p *page, r *http.Request) string {
	t.Helper()
	now, err := p.paint(r)
	if err != nil {
		return err.Error()
	}
	out := &strings.Builder{}
	if err := now.write(out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestOnlyChangedClustersAreSent checks that a change of one cluster reads and sends only the changed cluster.
func TestOnlyChangedClustersAreSent(t *testing.T) {
	for name, want := range map[string]string{"fleet": "counts g-eu c-c1", "clusters": "c-c1"} {
		f := small()
		p := &page{key: pageKey{hub: f}, build: builders[name]}
		r := request(t, name, addresses[name])
		before, err := p.paint(r)
		if err != nil {
			t.Fatal(err)
		}
		others := f.places
		for _, place := range others {
			place.reads.Store(0)
		}
		f.change(func() { f.apps[0] = app("argocd", "guestbook", "c1", "Degraded") })
		now, err := p.paint(r)
		if err != nil {
			t.Fatal(err)
		}
		changed, same, err := patches(before.Chunks, now.Chunks)
		if err != nil || !same {
			t.Fatal(same, err)
		}
		var ids []string
		for _, c := range changed {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: sends %q, want %q", name, got, want)
		}
		for cluster, place := range others {
			if n := place.reads.Load(); n != 0 {
				t.Errorf("%s: cluster %s has been read %d times", name, cluster, n)
			}
		}
	}
}

// TestNewReadersReadAgain checks that a new reader of an open page sees changes of objects outside the fleet, although
// no watch reports these changes. A page of the fleet alone is not built again.
func TestNewReadersReadAgain(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"application": func(f *fake) { f.apps[1].Status.History = []argocd.Deployment{{Revision: "abcdef0123456789"}} },
		"attention":   func(f *fake) { f.orphans = nil },
		"cluster":     func(f *fake) { f.agent = "v4.5.6" },
		"set":         func(f *fake) { f.steps = nil },
		"fleet":       nil,
		"clusters":    nil,
	} {
		f := small()
		r := request(t, name, addresses[name])
		p := &page{key: pageKey{hub: f}, build: builders[name]}
		first, err := p.come(r)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(f)
		}
		second, err := p.come(r)
		switch {
		case err != nil:
			t.Fatal(err)
		case change == nil && second != first:
			t.Errorf("%s: it was made again", name)
		case change != nil && second.Digest() == first.Digest():
			t.Errorf("%s: it is as it was", name)
		}
	}
}

// TestShared checks that only readers with the same identity share a page, and that the last reader removes the page.
func TestShared(t *testing.T) {
	s := &pages{shared: map[pageKey]*page{}}
	one, other := small(), small()
	join := func(hub Hub, address string) *page { return s.join(hub, request(t, "fleet", address), fleetPage) }
	a, b := join(one, "/?group=region"), join(one, "/?digest=abc&group=region")
	if a != b {
		t.Error("two readers of one identity do not share a page")
	}
	for _, p := range []*page{join(other, "/?group=region"), join(one, "/?group=region&namespace=a"), join(one, "/clusters?group=region")} {
		if p == a {
			t.Errorf("%v shares a page with %v", p.key, a.key)
		}
		s.leave(p)
	}
	s.leave(a)
	if len(s.shared) != 1 {
		t.Errorf("%d pages", len(s.shared))
	}
	s.leave(b)
	if len(s.shared) != 0 {
		t.Error("a page is kept that nobody looks at")
	}
}

// TestOutdated checks the open pages during an outage of the API server. Each page stays, shows the start of the
// outage, and afterwards is equal to the page before. A new reader of a page with objects outside the fleet gets the
// same message.
func TestOutdated(t *testing.T) {
	const since = "2023-11-14 22:13:20Z"
	for name, address := range addresses {
		f := small()
		r := request(t, name, address)
		p := &page{key: pageKey{hub: f}, build: builders[name]}
		want := html(t, p, r)
		f.change(func() {
			f.outdated = []Outdated{{What: "Applications", Since: time.Unix(1_700_000_000, 0), Why: "connection refused"}}
		})
		for _, got := range []string{html(t, p, r), html(t, &page{key: pageKey{hub: f}, build: builders[name]}, r)} {
			if !strings.Contains(got, since) {
				t.Errorf("%s does not say since when:\n%s", address, got)
			}
		}
		_, rows, _ := strings.Cut(want, `<div id="unread">`)
		_, rows, _ = strings.Cut(rows, "</div>")
		if got := html(t, p, r); !strings.Contains(got, rows) {
			t.Errorf("%s is not as it was:\n%s\nwant\n%s", address, got, rows)
		}
		if came, err := p.come(r); err != nil || came.Digest() != p.now.Digest() {
			t.Errorf("%s: who comes is not shown what the others see: %v", address, err)
		}
		f.change(func() { f.outdated = nil })
		if got := html(t, p, r); got != want {
			t.Errorf("%s after it:\n%s\nwant\n%s", address, got, want)
		}
	}
}

// TestReadsAlone checks that a page's objects outside the fleet are read once for concurrent new readers. An unrelated
// change does not repeat the reads.
func TestReadsAlone(t *testing.T) {
	f := small()
	r := request(t, "application", addresses["application"])
	p := &page{key: pageKey{hub: f}, build: builders["application"]}
	if _, err := p.come(r); err != nil {
		t.Fatal(err)
	}
	f.change(func() { f.apps[0] = app("argocd", "guestbook", "c1", "Degraded") })
	if _, err := p.paint(r); err != nil || f.reads != 1 {
		t.Errorf("read %d times: %v", f.reads, err)
	}
	begun := p.begun.Load()
	for range 20 { // simulates readers who all come at this moment
		if _, err := p.make(r, begun); err != nil {
			t.Fatal(err)
		}
	}
	if f.reads != 2 {
		t.Errorf("read %d times for 20 readers who came at once", f.reads-1)
	}
}
