package work_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// newer is a spec with fields unknown to Argo CD 2.14, and numbers that a float would change.
const newer = `{"project":"default","source":{"repoURL":"https://git.example.com/a.git","path":"x","targetRevision":"<main>",` +
	`"newInSource":{"deep":[1,{"n":9007199254740993}]}},"sourceHydrator":{"drySource":{"path":"a"}},` +
	`"destination":{"name":"cluster1","namespace":"guestbook","newInDestination":true},"newInSpec":{"ratio":0.10}}`

func TestRenderGolden(t *testing.T) {
	tests := map[string]*fixture.ApplicationBuilder{
		"standalone": fixture.Application("guestbook"),
		"applicationset": fixture.Application("cluster1-guestbook-app").ApplicationSet("guestbook-app").
			Finalizers("example.com/mine", apis.FinalizerPreDelete, apis.FinalizerResources).
			Label(apis.LabelInstance, "apps").Annotation(apis.AnnotationTrackingID, "apps:x/y:argocd/z"),
		"other-namespace": fixture.Application("guestbook").Namespace("team-a").
			Annotation(apis.AnnotationAppNamespace, "openshift-gitops").Annotation("team", "a").Label("tier", "web"),
		"newer-argocd": fixture.Application("guestbook").Spec(newer).Unknown("newTop", `{"a":1}`).
			Annotation(apis.AnnotationRefresh, "hard"),
		"multi-source": fixture.Application("guestbook").Sources(3),
		"refresh":      fixture.Application("guestbook").Annotation(apis.AnnotationRefreshRequest, "of-the-author"),
	}
	requests := map[string]work.Requests{
		"standalone": {Watched: true, Details: true},
		"refresh":    {Stored: relay.Stored{Refresh: relay.Refresh{Kind: "hard", ID: "one", Since: time.Unix(1_700_000_000, 0)}}, Volatile: true},
	}
	for title, b := range tests {
		t.Run(title, func(t *testing.T) {
			app := b.Obj()
			before := app.DeepCopy()
			w, err := work.Render(app, requests[title])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, app); diff != "" {
				t.Errorf("Render changed its input:\n%s", diff)
			}
			got, err := yaml.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, title+".golden.yaml", got)
		})
	}
}

// payloadOf decodes the Application in a work.
func payloadOf(t *testing.T, w *workv1.ManifestWork) *argocd.Application {
	t.Helper()
	app := &argocd.Application{}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, app); err != nil {
		t.Fatal(err)
	}
	return app
}

func render(t *testing.T, b *fixture.ApplicationBuilder) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(b.Obj(), work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRenderLosesNothingOfTheSpecButTheDestination(t *testing.T) {
	var want, got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(newer), &want); err != nil {
		t.Fatal(err)
	}
	w := render(t, fixture.Application("guestbook").Spec(newer))
	if err := json.Unmarshal(payloadOf(t, w).Spec.Raw, &got); err != nil {
		t.Fatal(err)
	}
	want["destination"] = json.RawMessage(
		`{"namespace":"guestbook","newInDestination":true,"server":"https://kubernetes.default.svc"}`)
	asText := func(m map[string]json.RawMessage) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = string(v)
		}
		return out
	}
	if diff := cmp.Diff(asText(want), asText(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRenderSizeLimit(t *testing.T) {
	spec := func(n int) string { return `{"x":"` + strings.Repeat("a", n) + `"}` }
	var large *work.TooLargeError
	_, err := work.Render(fixture.Application("a").Spec(spec(work.MaxPayload)).Obj(), work.Requests{})
	if !errors.As(err, &large) {
		t.Fatalf("got %v", err)
	}
	fits := work.MaxPayload - (large.Size - work.MaxPayload)
	if _, err := work.Render(fixture.Application("a").Spec(spec(fits)).Obj(), work.Requests{}); err != nil {
		t.Errorf("an Application of just the size that fits: %v", err)
	}
	if _, err := work.Render(fixture.Application("a").Spec(spec(fits+1)).Obj(), work.Requests{}); err == nil {
		t.Error("an Application one byte too large was rendered")
	}
}
