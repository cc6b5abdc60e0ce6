package dependencies

import (
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestAlone: only an Application of the default project that nobody brings anything to is not looked at.
func TestAlone(t *testing.T) {
	app := func() *fixture.ApplicationBuilder { return fixture.Application("web").Cluster("c1") }
	known := dependency.Credentials{{Secret: "s", URL: "https://git.example.com/private"}}
	for title, tc := range map[string]struct {
		app  *argocd.Application
		want bool
	}{
		"with nothing":        {app().Spec(`{"project":"default","source":{"repoURL":"https://git.example.com/open"}}`).Obj(), true},
		"of no project":       {app().Spec(`{}`).Obj(), true},
		"of a project":        {app().Spec(`{"project":"team"}`).Obj(), false},
		"of a private source": {app().Spec(`{"source":{"repoURL":"https://git.example.com/private.git"}}`).Obj(), false},
		"with objects":        {app().Spec(`{}`).Annotation(apis.AnnotationWith, "secret/a").Obj(), false},
		"with what is wrong":  {app().Spec(`{}`).Condition(apis.ConditionDependencyError, "x").Obj(), false},
	} {
		if got := alone(tc.app, keysFor(work.Key(tc.app), known, dependency.ReadSpec(tc.app))); got != tc.want {
			t.Errorf("an Application %s: %t", title, got)
		}
	}
}
