package delivery

import (
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

// gitless makes cluster1 read all repositories through the hub.
func gitless(f *managedcluster.Facts) { f.SourceHub = true }

func TestSources(t *testing.T) {
	const git = `{"destination":{"namespace":"a"},"source":{"path":"p","repoURL":"https://git.example.com/apps"}}`
	const chart = `{"destination":{"namespace":"a"},"source":{"chart":"redis","repoURL":"https://charts.example.com"}}`
	asks := func(value string) *fixture.ApplicationBuilder {
		return fixture.Application("guestbook").Spec(git).Annotation(apis.AnnotationSource, value)
	}
	const invalid, unsupported = "PropagationError AnnotationInvalid", "PropagationError SourceUnsupported"
	sent := []string{"create cluster1", "  event Propagated"}
	plain := func(f *managedcluster.Facts) { f.SourceAddress = "http://agent" }
	charts := func() *fixture.ApplicationBuilder { return fixture.Application("guestbook").Spec(chart) }
	decides(t, map[string]row{
		"direct":                 {is: of(fixture.Application("guestbook").Spec(git)), want: sent},
		"by the cluster":         {is: of(fixture.Application("guestbook").Spec(git)).cluster("cluster1", gitless), want: sent},
		"by the Application":     {is: of(asks("hub")), want: sent},
		"an unknown word":        {is: of(asks("git")), want: []string{invalid}, says: `"git" is not one of direct, hub`},
		"a chart":                {is: of(charts()).cluster("cluster1", gitless), want: []string{unsupported}, says: `chart "redis"`},
		"a chart, read directly": {is: of(charts().Annotation(apis.AnnotationSource, "direct")).cluster("cluster1", gitless), want: sent},
		"an address without https": {is: of(asks("hub")).cluster("cluster1", plain), want: []string{unsupported},
			says: `"http://agent" is not an address like`},
	})
}

func TestSourceAddress(t *testing.T) {
	const repo = "https://git.example.com/apps"
	app := fixture.Application("guestbook").Spec(`{"destination":{"namespace":"a"},"source":{"path":"p","repoURL":"` + repo + `"}}`)
	at := func(f *managedcluster.Facts) { f.SourceAddress = "https://a:1" }
	for title, test := range map[string]struct {
		is   *situation
		want string
	}{
		"direct":                          {of(app), repo},
		"the cluster":                     {of(app).cluster("cluster1", gitless), source.At(apis.DefaultSourceAddress, repo)},
		"an address of the cluster":       {of(app).cluster("cluster1", gitless, at), source.At("https://a:1", repo)},
		"a cluster that is not chosen":    {of(app).cluster("cluster2", gitless), repo},
		"the Application has priority":    {of(app.Annotation(apis.AnnotationSource, "direct")).cluster("cluster1", gitless), repo},
		"the Application, not the others": {of(app.Annotation(apis.AnnotationSource, "hub")), source.At(apis.DefaultSourceAddress, repo)},
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(test.is.Facts, test.is.Options)
			if len(plan.Steps) != 1 {
				t.Fatalf("the plan has %d writes", len(plan.Steps))
			}
			w := plan.Steps[0].Work
			if raw := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"repoURL":"`+test.want+`"`) {
				t.Errorf("the work has no repoURL %s: %s", test.want, raw)
			}
			names := ""
			if test.want != repo {
				names = source.Name(repo)
			}
			if got := w.Annotations[apis.AnnotationSources]; got != names {
				t.Errorf("the work names the repositories %q, not %q", got, names)
			}
		})
	}
}

// A cluster that has lost the right to an Application may not read the repositories of the Application any more.
func TestSourcesClose(t *testing.T) {
	reads := func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationSources] = "apps-1" }
	for title, s := range map[string]*situation{
		"automated syncs":    of(automatic()).own(t, reads).with(withdrawn),
		"no automated syncs": of(cascading()).own(t, reads).with(withdrawn),
	} {
		plan := Decide(s.Facts, s.Options)
		if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate || plan.Steps[0].Work.Annotations[apis.AnnotationSources] != "" {
			t.Errorf("%s: the plan is %+v", title, plan.Steps)
		}
	}
}
