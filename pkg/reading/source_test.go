package reading_test

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/why"
)

// TestSource: for an Application that reads through the hub, the facts have the first missing part of the way.
func TestSource(t *testing.T) {
	const address = "https://git.example.com/apps.git"
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "a", nil)
	available := status(map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}})
	// hub returns a hub without a problem, with other answers for some kinds.
	hub := func(other answers) answers {
		out := answers{
			"APIService": available, "ManagedClusterAddOn": available, source.Kind: status(map[string]any{"references": int64(2)}),
			"AddOnTemplate": template("--source-bind-address=:8443", "--argocd-managed-resources=argocd"),
		}
		maps.Copy(out, other)
		return out
	}
	good := why.Facts{Source: &why.SourceState{}}
	failure := source.Failure{Reason: "credential", Message: "the Git server refuses", Error: "git ls-remote: fatal"}
	for title, tc := range map[string]struct {
		hub  answers
		want why.Facts
	}{
		"no problem": {hub(nil), good},
		"a refused credential": {
			hub(answers{source.Kind: status(map[string]any{"error": failure.Error, "reason": failure.Reason, "message": failure.Message})}),
			why.Facts{
				Source:     &why.SourceState{},
				Repository: &why.Repository{Name: source.Name("default", address), Address: address, Failure: failure},
			},
		},
		"a repository that is not served yet":     {hub(answers{source.Kind: nil}), good},
		"repositories that the user may not read": {hub(answers{source.Kind: forbidden}), good},
		"towline-source fails": {
			hub(answers{source.Kind: apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "get", schema.GroupResource{}, "a", "", 0, true)}),
			why.Facts{Source: &why.SourceState{Unavailable: "the server is currently unable to handle the request"}},
		},
		"towline-source is missing": {hub(answers{"APIService": nil, source.Kind: forbidden}), why.Facts{Source: &why.SourceState{Missing: true}}},
		"no agent": {
			hub(answers{"ManagedClusterAddOn": nil}), why.Facts{Source: &why.SourceState{}, Agent: why.AgentState{Missing: true}},
		},
		"an agent without the port": {
			hub(answers{"AddOnTemplate": template("--argocd-managed-resources=argocd")}),
			why.Facts{Source: &why.SourceState{}, Agent: why.AgentState{Closed: true}},
		},
		"a user without rights": {
			answers{"APIService": forbidden, "ManagedClusterAddOn": forbidden, "AddOnTemplate": forbidden, source.Kind: forbidden}, why.Facts{},
		},
	} {
		app := fixture.Application("a").Cluster("cluster1").Annotation(apis.AnnotationSource, apis.SourceHub).
			Spec(`{"project":"default","source":{"repoURL":"` + address + `"}}`).Obj()
		f := &why.Facts{App: app}
		tc.want.App = app
		if err := reading.Source(t.Context(), tc.hub, f); err != nil || !reflect.DeepEqual(f, &tc.want) {
			t.Errorf("%s: %+v %+v, %v", title, f, f.Source, err)
		}
	}
	for title, app := range map[string]*fixture.ApplicationBuilder{
		"direct":     fixture.Application("a").Cluster("cluster1"),
		"no cluster": fixture.Application("a").Cluster("").Annotation(apis.AnnotationSource, apis.SourceHub),
	} {
		f := &why.Facts{App: app.Obj()}
		if err := reading.Source(t.Context(), hub(answers{"APIService": nil}), f); err != nil || f.Source != nil {
			t.Errorf("%s: %+v, %v", title, f.Source, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &why.Facts{App: fixture.Application("a").Cluster("cluster1").Annotation(apis.AnnotationSource, apis.SourceHub).Obj()}
	if err := reading.Source(ctx, hub(answers{source.Kind: context.Canceled}), f); err == nil {
		t.Error("the end of the command is hidden")
	}
}
