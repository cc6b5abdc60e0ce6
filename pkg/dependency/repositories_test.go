package dependency

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/source"
)

// gitless makes the cluster read all repositories through the hub.
func gitless(s *situation) { s.Cluster.SourceHub = true }

func direct() *fixture.ApplicationBuilder {
	return webApp().Annotation(apis.AnnotationSource, apis.SourceDirect)
}
func through() *fixture.ApplicationBuilder {
	return webApp().Annotation(apis.AnnotationSource, apis.SourceHub)
}

// sentThrough returns the work of an Application that reads through the hub.
func sentThrough() *workv1.ManifestWork {
	app := webApp().Obj()
	app.SourceAddress = apis.DefaultSourceAddress
	return workOf(app)
}

// TestRepositoriesOfAProject: the delivered AppProject permits only the addresses that the Applications of the cluster use.
func TestRepositoriesOfAProject(t *testing.T) {
	const git, other = `"https://git.example.com/*"`, "https://git.example.com/other.git"
	web, more := source.At(apis.DefaultSourceAddress, "web", "https://git.example.com/web.git"), source.At(apis.DefaultSourceAddress, "web", other)
	second := through().Spec(`{"project":"web","source":{"repoURL":"` + other + `"},"destination":{"namespace":"web"}}`)
	released := func(w *workv1.ManifestWork) { Release(w, []types.NamespacedName{{Namespace: "argocd", Name: "gone"}}) }
	for title, tc := range map[string]struct {
		is   *situation
		want string
	}{
		"direct":                          {ofProject(used(webApp())), git},
		"by the cluster":                  {ofProject(used(webApp()), gitless), `"` + web + `"`},
		"by the Application":              {ofProject(used(through())), `"` + web + `"`},
		"the Application is an exception": {ofProject(used(direct()), gitless), git},
		"mixed":                           {ofProject(used(through()), used(direct())), git + `,"` + web + `"`},
		"two repositories":                {ofProject(used(through()), used(second), used(webApp()), gitless), `"` + more + `","` + web + `"`},
		"another is forbidden":            {ofProject(used(through()), used(second, forbidden), used(direct(), forbidden)), `"` + web + `"`},
		"sent before the change":          {ofProject(used(through()), carrying(workOf(webApp().Obj()))), git + `,"` + web + `"`},
		"sent after the change":           {ofProject(used(through()), carrying(sentThrough())), `"` + web + `"`},
		"moving away":                     {ofProject(there(), carrying(sentThrough())), `"` + web + `"`},
		"forbidden since":                 {ofProject(there(), used(second, forbidden), carrying(sentThrough())), `"` + web + `"`},
		"one is released":                 {ofProject(there(released), used(through())), git + `,"` + web + `"`},
	} {
		t.Run(title, func(t *testing.T) {
			spec := `{"destinations":[{"server":"*","namespace":"*"}],"sourceNamespaces":["team"],"sourceRepos":[` + git + `]}`
			if err := json.Unmarshal([]byte(spec), &tc.is.Project.Spec); err != nil {
				t.Fatal(err)
			}
			plan := Decide(tc.is.Facts, tc.is.Options)
			if plan.Step == nil || plan.Err != nil {
				t.Fatalf("got %+v", plan)
			}
			raw := string(plan.Step.Work.Spec.Workload.Manifests[0].Raw)
			if !strings.Contains(raw, `"sourceRepos":[`+tc.want+`]`) {
				t.Errorf("the AppProject is %s, without the repositories %s", raw, tc.want)
			}
		})
	}
}

// TestSignaturesAtTheAgent: the policies of an AppProject are for the same repositories as on the hub. A repository without a
// policy would not be checked at all.
func TestSignaturesAtTheAgent(t *testing.T) {
	web := source.At(apis.DefaultSourceAddress, "web", "https://git.example.com/web.git")
	for title, tc := range map[string]struct{ repos, want string }{
		"its own address":  {`{"url":"https://git.example.com/*"}`, `{"url":"https://git.example.com/*"},{"url":"` + web + `"}`},
		"each address":     {`{"url":"*"}`, `{"url":"*"}`},
		"another server":   {`{"url":"https://other.example.com/*"}`, `{"url":"https://other.example.com/*"}`},
		"each but its own": {`{"url":"*"},{"url":"!https://git.*"}`, `{"url":"*"},{"url":"!https://git.*"},{"url":"!` + web + `"}`},
	} {
		s := ofProject(used(through()))
		spec := `{"sourceRepos":["*"],"sourceIntegrity":{"git":{"policies":[{"gpg":{"mode":"head"},"repos":[` + tc.repos + `]}]}}}`
		if err := json.Unmarshal([]byte(spec), &s.Project.Spec); err != nil {
			t.Fatal(err)
		}
		plan := Decide(s.Facts, s.Options)
		if plan.Step == nil || plan.Err != nil {
			t.Fatalf("%s: got %+v", title, plan)
		}
		raw := string(plan.Step.Work.Spec.Workload.Manifests[0].Raw)
		if !strings.Contains(raw, `"policies":[{"gpg":{"mode":"head"},"repos":[`+tc.want+`]}]`) {
			t.Errorf("%s: the AppProject is %s, without %s", title, raw, tc.want)
		}
	}
}

// TestWidensForRepositories: one Application that reads from the servers is enough.
func TestWidensForRepositories(t *testing.T) {
	for title, tc := range map[string]struct {
		is   *situation
		app  *fixture.ApplicationBuilder
		want bool
	}{
		"all direct":                 {ofProject(used(direct())), direct(), false},
		"through the hub":            {ofProject(used(direct())), through(), true},
		"a second one":               {ofProject(used(through())), through(), true},
		"the first direct one":       {ofProject(used(through())), direct(), true},
		"the first one is forbidden": {ofProject(used(direct(), forbidden)), direct(), true},
		"all through the hub":        {ofProject(used(webApp()), gitless), webApp(), true},
	} {
		if got := tc.is.Widens(tc.app.Obj()); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

// TestCredentialsStay: an Application that reads through the hub needs no credential of the hub on its cluster.
func TestCredentialsStay(t *testing.T) {
	decides(t, map[string]row{
		"direct":                            {is: ofCredential(used(webApp())), want: []string{"create"}},
		"through the hub":                   {is: ofCredential(used(webApp()), gitless), want: []string{}},
		"by the Application":                {is: ofCredential(used(through())), want: []string{}},
		"mixed":                             {is: ofCredential(used(through()), used(direct())), want: []string{"create"}},
		"from direct to hub, still sent":    {is: ofCredential(there(), used(through()), carrying(workOf(webApp().Obj()))), want: []string{}},
		"from direct to hub":                {is: ofCredential(there(), used(through()), carrying(sentThrough())), want: []string{"delete"}},
		"from hub to direct, not yet there": {is: ofCredential(used(direct()), carrying(sentThrough())), want: []string{"create"}},
	})
	for title, s := range map[string]*situation{
		"credential": ofCredential(gitless), "certificate": ofCertificate(gitless), "host keys": ofHostKeys("true", gitless),
	} {
		if s.Concerns(webApp().Obj()) || s.Concerns(sshApp().Obj()) {
			t.Errorf("%s: an Application that reads through the hub needs it", title)
		}
	}
}
