package delivery

import (
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/relay"
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

// TestOperationSources: an operation with a repository that neither the spec nor the history names stays on the hub, and
// blocks no other change.
func TestOperationSources(t *testing.T) {
	const repo, former = "https://git.example.com/apps", "https://git.example.com/former"
	app := func(repos ...string) *fixture.ApplicationBuilder {
		var sources []string
		for _, repo := range repos {
			sources = append(sources, `{"path":"p","repoURL":"`+repo+`"}`)
		}
		return fixture.Application("guestbook").Spec(`{"destination":{"namespace":"a"},"sources":[` + strings.Join(sources, ",") + `]}`)
	}
	one := `"source":{"path":"p","repoURL":"` + former + `"}`
	several := `"source":{"repoURL":""},"sources":[{"path":"p","repoURL":"` + repo + `"},{"path":"p","repoURL":"` + former + `"}]`
	chart := `"source":{"chart":"redis","repoURL":"` + repo + `"}`
	refused := []string{"create cluster1", "  event Propagated", "PropagationError SourceUnsupported"}
	accepted := func(sync string) []string { // the operation gets an identity first
		return []string{`hub: operation {"info":[{"name":"apps.open-cluster-management.io/request","value":"1700000000-identity"}],"sync":{` + sync + `}}`}
	}
	asks := func(sync string, repos ...string) *fixture.ApplicationBuilder {
		return app(repos...).Operation(`{"sync":{` + sync + `}}`)
	}
	hub := func(b *fixture.ApplicationBuilder) *situation { return of(b).cluster("cluster1", gitless) }
	history := argocd.Status{History: []argocd.Deployment{{Source: &argocd.Source{RepoURL: former}}}}
	decides(t, map[string]row{
		"another repository":                {is: hub(asks(one, repo)), want: refused, says: `the operation names "` + former + `"`},
		"another repository of several":     {is: hub(asks(several, repo)), want: refused, says: former},
		"a chart":                           {is: hub(asks(chart, repo)), want: refused, says: `chart "redis"`},
		"the repositories of the spec":      {is: hub(asks(several, repo, former)), want: accepted(several)},
		"a repository of the history":       {is: hub(asks(one, repo).Status(history)), want: accepted(one)},
		"a revision":                        {is: hub(asks(`"revision":"main"`, repo)), want: accepted(`"revision":"main"`)},
		"another repository, read directly": {is: of(asks(one, repo)), want: accepted(one)},
	})
}

// TestOperationReads: until the end of an operation, the cluster may read the repositories of the operation.
func TestOperationReads(t *testing.T) {
	const repo, former = "https://git.example.com/apps", "https://git.example.com/former"
	both, one := source.WriteNames(argocd.DefaultProject, []string{repo, former}), source.WriteNames(argocd.DefaultProject, []string{repo})
	operation := strings.Replace(asked1, `"sync":{}`, `"sync":{"source":{"path":"p","repoURL":"`+former+`"}}`, 1)
	app := func() *fixture.ApplicationBuilder {
		return fixture.Application("guestbook").Spec(`{"destination":{"namespace":"a"},"source":{"path":"p","repoURL":"`+repo+`"}}`).
			Annotation(apis.AnnotationSource, apis.SourceHub).
			Status(argocd.Status{History: []argocd.Deployment{{Source: &argocd.Source{RepoURL: former}}}})
	}
	at := func(state relay.State) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			w.Annotations[apis.AnnotationSources] = both
			w.Annotations[apis.AnnotationRequestSent] = relay.Sent{State: state, ID: "1-a", Version: "1"}.String()
		}
	}
	for title, test := range map[string]struct {
		app     *fixture.ApplicationBuilder
		edits   []func(*workv1.ManifestWork)
		refused []string
		want    string
	}{
		"a request": {app().Operation(operation), nil, nil, both},
		"a running operation": {app().Runs("Running", began), []func(*workv1.ManifestWork){
			reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", began, "operationTaken", "1-a"), at(relay.Delivered),
		}, nil, both},
		"a running operation, not permitted any more": {app().Runs("Running", began), []func(*workv1.ManifestWork){
			reports("Healthy", "operationStatePhase", "Running", "operationStateStartedAt", began, "operationTaken", "1-a"), at(relay.Delivered),
		}, []string{former}, one},
		"a paused Application, not permitted any more": {
			app().Runs("Running", began).Annotation(apis.AnnotationPaused, "true"), []func(*workv1.ManifestWork){at(relay.Delivered)},
			[]string{former}, one,
		},
		"a request on its way, not permitted any more": {
			app().Operation(operation), []func(*workv1.ManifestWork){at(relay.OnItsWay)}, []string{former}, one,
		},
		"a finished operation": {app(), []func(*workv1.ManifestWork){
			reports("Healthy", "operationStatePhase", "Succeeded", "operationStateStartedAt", began), at(relay.Delivered),
		}, nil, one},
	} {
		t.Run(title, func(t *testing.T) {
			is := of(test.app)
			is.ReadsRefused = test.refused
			is.Own = workFor(t, is.App.ReadingAt(apis.DefaultSourceAddress), test.edits...)
			got := is.Own
			for _, step := range Decide(is.Facts, is.Options).Steps {
				got = step.Work
			}
			if names := got.Annotations[apis.AnnotationSources]; names != test.want {
				t.Errorf("the work names %q, not %q", names, test.want)
			}
		})
	}
}

func TestSourceAddress(t *testing.T) {
	const repo = "https://git.example.com/apps"
	app := fixture.Application("guestbook").Spec(`{"destination":{"namespace":"a"},"source":{"path":"p","repoURL":"` + repo + `"}}`)
	at := func(f *managedcluster.Facts) { f.SourceAddress = "https://a:1" }
	for title, test := range map[string]struct {
		is   *situation
		want string
	}{
		"direct":                       {of(app), repo},
		"the cluster":                  {of(app).cluster("cluster1", gitless), source.At(apis.DefaultSourceAddress, argocd.DefaultProject, repo)},
		"an address of the cluster":    {of(app).cluster("cluster1", gitless, at), source.At("https://a:1", argocd.DefaultProject, repo)},
		"a cluster that is not chosen": {of(app).cluster("cluster2", gitless), repo},
		"the Application has priority": {of(app.Annotation(apis.AnnotationSource, "direct")).cluster("cluster1", gitless), repo},
		"the Application, not the others": {
			of(app.Annotation(apis.AnnotationSource, "hub")), source.At(apis.DefaultSourceAddress, argocd.DefaultProject, repo),
		},
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
				names = source.WriteNames(argocd.DefaultProject, []string{repo})
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

// sentThrough renders the works of a situation with sources through the hub.
func sentThrough(s *situation) { s.App.SourceAddress = apis.DefaultSourceAddress }

// changeOf returns the planned change of a work, and the text of the planned Application.
func changeOf(t *testing.T, s *situation) (w *workv1.ManifestWork, raw string) {
	t.Helper()
	plan := Decide(s.Facts, s.Options)
	if len(plan.Steps) != 1 || plan.Steps[0].Verb != work.VerbUpdate {
		t.Fatalf("the plan is %q, %v", outline(&plan), plan.Conditions)
	}
	return plan.Steps[0].Work, string(plan.Steps[0].Work.Spec.Workload.Manifests[0].Raw)
}

// TestSourcesChange: the Application on the cluster follows each change of the choice. A released Application reads from
// the Git server.
func TestSourcesChange(t *testing.T) {
	const repo = "https://git.example.com/apps"
	app := func() *fixture.ApplicationBuilder {
		return fixture.Application("guestbook").Spec(`{"destination":{"namespace":"a"},"source":{"path":"p","repoURL":"` + repo + `"}}`)
	}
	hub := source.At(apis.DefaultSourceAddress, argocd.DefaultProject, repo)
	names := source.WriteNames(argocd.DefaultProject, []string{repo})
	formerly := func(s *situation) { s.App.SourceAddress = "https://former" }
	for title, test := range map[string]struct {
		is    *situation
		want  string
		names string
	}{
		"to the hub":           {of(app()).own(t).cluster("cluster1", gitless), hub, names},
		"to direct":            {of(app()).with(sentThrough).own(t), repo, ""},
		"to another address":   {of(app()).with(formerly).own(t).cluster("cluster1", gitless), hub, names},
		"released":             {of(app().Annotation(apis.AnnotationRelease, "true")).with(sentThrough).own(t).cluster("cluster1", gitless), repo, ""},
		"released since":       {of(app().Annotation(apis.AnnotationRelease, "true")).with(formerly).own(t), repo, ""},
		"without the label":    {of(app().NoLabel(apis.LabelPull)).with(sentThrough).own(t).cluster("cluster1", gitless), repo, ""},
		"on a former cluster":  {of(app().Annotation(apis.AnnotationRelease, "true")).with(sentThrough).at(t, "cluster2", "other"), repo, ""},
		"released, as it was":  {of(app().Annotation(apis.AnnotationRelease, "true")).own(t), repo, ""},
		"refused, as the user": {of(app()).with(sentThrough).own(t, asksWhoseIs(".spec.source.repoURL")).cluster("cluster1", gitless), repo, ""},
		"adopted":              {of(app()).own(t, claimsBy(work.Apply)).cluster("cluster1", gitless), hub, names},
	} {
		t.Run(title, func(t *testing.T) {
			w, raw := changeOf(t, test.is)
			if !strings.Contains(raw, `"repoURL":"`+test.want+`"`) || w.Annotations[apis.AnnotationSources] != test.names {
				t.Errorf("the work names %q, and has %s", w.Annotations[apis.AnnotationSources], raw)
			}
		})
	}
}

// asksWhoseIs makes a work ask for the owner of the cluster's Application. The agent may not change the fields, and has
// found the Application.
func asksWhoseIs(fields string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		work.SetUpdateMode(w, work.Apply)
		work.AskOrigin(w)
		refuses(`x: Apply failed with 1 conflict: conflict with "kubectl": ` + fields)(w)
	}
}

// TestSourcesOfAnExistingApplication: Towline takes over an Application with the address that the author knows. The next
// write replaces the address by force.
func TestSourcesOfAnExistingApplication(t *testing.T) {
	app := func() *fixture.ApplicationBuilder { return fixture.Application("guestbook") }
	refused := []string{"PropagationError AdoptionRefused"}
	unanswered := func(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} }
	decides(t, map[string]row{
		"another path": {
			is:   of(app()).own(t, asksWhoseIs(".spec.source.path")).cluster("cluster1", gitless),
			want: refused, says: ".spec.source.path"},
		"another project": {
			is:   of(app()).with(sentThrough).own(t, asksWhoseIs(".spec.project")).cluster("cluster1", gitless),
			want: refused, says: ".spec.project"},
		"asked as the user, without an answer": {
			is:   of(app()).own(t, claimsBy(work.Apply), work.AskOrigin, unanswered).cluster("cluster1", gitless),
			want: []string{}},
		"on its way for the first time": {
			is:   of(app()).own(t, claimsBy(work.Apply), unanswered).cluster("cluster1", gitless),
			want: []string{"update cluster1"}},
	})
	adopted := of(app()).own(t, claimsBy(work.Apply)).cluster("cluster1", gitless)
	if w, _ := changeOf(t, adopted); work.UpdateModeOf(w) != work.ForceApply {
		t.Error("the address of the agent conflicts with the address of the author")
	}
}

// TestSubjectReadsAsItsCluster: a work on a former cluster has the addresses for the former cluster.
func TestSubjectReadsAsItsCluster(t *testing.T) {
	s := of(fixture.Application("guestbook")).at(t, "cluster2", "other").own(t).cluster("cluster2", gitless)
	v := &view{Facts: &s.Facts}
	if v.subject(s.Own).app.SourceAddress != "" || v.subject(s.Others[0]).app.SourceAddress != apis.DefaultSourceAddress {
		t.Error("the cluster of the work does not decide")
	}
	if v = (&view{Facts: &s.gone().Facts}); v.subject(s.Others[0]).app != nil {
		t.Error("an Application appears")
	}
}

// TestSourcesWithARefresh: a requested refresh reaches a cluster that reads through the hub, with the addresses for the
// cluster.
func TestSourcesWithARefresh(t *testing.T) {
	s := of(fixture.Application("guestbook").Annotation(apis.AnnotationRefresh, "hard")).with(sentThrough).own(t).cluster("cluster1", gitless)
	_, raw := changeOf(t, s)
	for _, part := range []string{`"` + apis.AnnotationRefresh + `":"hard"`, `"repoURL":"` + apis.DefaultSourceAddress + `/`} {
		if !strings.Contains(raw, part) {
			t.Errorf("the Application on the cluster has no %s: %s", part, raw)
		}
	}
}
