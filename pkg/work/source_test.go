package work_test

import (
	"slices"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

const agent = "https://agent"

// TestSourceAddress: the work of an Application with sources through the hub names no address of a Git server.
func TestSourceAddress(t *testing.T) {
	app := fixture.Application("guestbook").Sources(2).Obj()
	app.SourceAddress = agent
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	addresses := source.Addresses(app.Spec.Raw)
	if got, want := w.Annotations[apis.AnnotationSources], source.WriteNames(app.Project(), addresses); got != want || len(source.ReadNames(got)) != 2 {
		t.Errorf("the work names the repositories %q, not %q", got, want)
	}
	raw := string(w.Spec.Workload.Manifests[0].Raw)
	for _, address := range addresses {
		if strings.Contains(raw, address) || !strings.Contains(raw, source.At(agent, argocd.DefaultProject, address)) {
			t.Errorf("the Application on the cluster names %s: %s", address, raw)
		}
	}
	direct := fixture.Application("guestbook").Sources(2).Obj()
	back, err := work.Render(direct, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	updated, changed := work.Update(w, back)
	if _, there := updated.Annotations[apis.AnnotationSources]; !changed || there {
		t.Errorf("an Application with direct sources keeps the names of repositories: %v", updated.Annotations)
	}
}

// TestReleaseReadsDirectly: a released Application reads from the Git servers, because nobody serves the address at the
// agent for it any more.
func TestReleaseReadsDirectly(t *testing.T) {
	app := fixture.Application("guestbook").Sources(2).Obj()
	addresses := source.Addresses(app.Spec.Raw)
	app.SourceAddress = agent
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	closed, changed := work.CloseSources(w)
	if !changed {
		t.Fatal("the work names no repositories")
	}
	request, err := work.Render(app, work.Requests{Stored: relay.Stored{Last: relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "7"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Carry(request, app, work.Request{Operation: []byte(`{"sync":{}}`), Version: "7"}); err != nil {
		t.Fatal(err)
	}
	for title, w := range map[string]*workv1.ManifestWork{"an Application": w, "without a right": closed, "a request": request} {
		out, err := work.Release(w, app)
		if err != nil {
			t.Fatal(err)
		}
		raw := string(out.Spec.Workload.Manifests[0].Raw)
		for _, address := range addresses {
			if !strings.Contains(raw, `"`+address+`"`) || strings.Contains(raw, agent) {
				t.Errorf("%s: the released Application is %s", title, raw)
			}
		}
		if !work.Released(out) || work.ReadsThroughHub(out) {
			t.Errorf("%s: the work is not released: %v", title, out.Annotations)
		}
	}
	lost, err := work.Release(w, nil)
	if err != nil || !work.Released(lost) || !strings.Contains(string(lost.Spec.Workload.Manifests[0].Raw), agent) {
		t.Errorf("the Application is gone from the hub: %v, %+v", err, lost)
	}
	early := w.DeepCopy()
	early.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	if work.Released(early) {
		t.Error("a released Application reads through the hub")
	}
}

// TestCloseReads: only the named repositories of the AppProject close.
func TestCloseReads(t *testing.T) {
	app := fixture.Application("guestbook").Sources(2).Obj()
	addresses := source.Addresses(app.Spec.Raw)
	app.SourceAddress = agent
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	before := w.Annotations[apis.AnnotationSources]
	for title, repositories := range map[string][]string{"nothing": nil, "an unknown repository": {"https://other.example.com"}} {
		if got, changed := work.CloseReads(w, argocd.DefaultProject, repositories); changed || got != w {
			t.Errorf("%s: changed to %q", title, got.Annotations[apis.AnnotationSources])
		}
	}
	if _, changed := work.CloseReads(w, "another", addresses); changed {
		t.Error("the repositories of another AppProject are closed")
	}
	got, changed := work.CloseReads(w, argocd.DefaultProject, addresses[:1])
	if want := source.WriteNames(argocd.DefaultProject, addresses[1:]); !changed || got.Annotations[apis.AnnotationSources] != want {
		t.Errorf("the work names %q, not %q", got.Annotations[apis.AnnotationSources], want)
	}
	if w.Annotations[apis.AnnotationSources] != before {
		t.Error("the work in the cache has changed")
	}
	if got, _ := work.CloseReads(w, argocd.DefaultProject, addresses); work.ReadsThroughHub(got) {
		t.Error("the cluster still reads through the hub")
	}
}

// TestRepositoriesOf: the AppProject of the hub judges the repositories behind the addresses in a work.
func TestRepositoriesOf(t *testing.T) {
	app := fixture.Application("guestbook").Sources(2).Obj()
	addresses := source.Addresses(app.Spec.Raw)
	app.SourceAddress = agent
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(repo string) string { return source.At(agent, argocd.DefaultProject, repo) }
	sent := []string{at(addresses[0]), "https://other.example.com", at(addresses[1])}
	want := []string{addresses[0], "https://other.example.com", addresses[1]}
	if got := work.RepositoriesOf(w, app, agent, sent); !slices.Equal(got, want) {
		t.Errorf("got %v, not %v", got, want)
	}
	app.Spec.Raw = []byte(`{"source":{"repoURL":"` + addresses[1] + `"}}`)
	if got := work.RepositoriesOf(w, app, agent, sent); !slices.Equal(got, want[1:]) {
		t.Errorf("the hub's Application has another source: got %v, not %v", got, want[1:])
	}
	planted := at("https://evil.example.com")
	if got := work.RepositoriesOf(w, app, agent, []string{planted}); !slices.Equal(got, []string{planted}) {
		t.Errorf("a cluster planted an address: got %v", got)
	}
	closed, _ := work.CloseSources(w)
	if got := work.RepositoriesOf(closed, app, agent, sent); !slices.Equal(got, want[1:]) {
		t.Errorf("a closed work whose repository the hub does not know any more: got %v, not %v", got, want[1:])
	}
}
