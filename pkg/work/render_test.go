package work_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		"refresh":    {Refresh: relay.Refresh{Kind: "hard", ID: "one", Since: time.Unix(1_700_000_000, 0)}, Volatile: true},
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

func TestRenderDropsFieldsForTheHub(t *testing.T) {
	app := fixture.Application("guestbook").Finalizers(metav1.FinalizerDeleteDependents, apis.FinalizerResources).
		Annotation(apis.AnnotationRefresh, "normal").Annotation("kubectl.kubernetes.io/last-applied-configuration", "{}")
	got := payloadOf(t, render(t, app))
	if diff := cmp.Diff(map[string]string{apis.AnnotationWork: "guestbook-4a491", apis.AnnotationFields: "10"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{apis.LabelPulled: "true"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{apis.FinalizerResources}, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if got.UID != "" || got.ResourceVersion != "" || len(got.OwnerReferences) != 0 {
		t.Errorf("server-set metadata travels: %+v", got.ObjectMeta)
	}
}

// TestRenderDropsMarks: marks of the hub's controllers do not reach the cluster, neither as an annotation nor as a
// label. The user's own settings do.
func TestRenderDropsMarks(t *testing.T) {
	for key, travels := range map[string]bool{
		"argocd.argoproj.io/tracking-id":           false,
		"argocd.argoproj.io/installation-id":       false,
		"app.kubernetes.io/instance":               false,
		"argocd.argoproj.io/instance":              false,
		"applications.argoproj.io/app-name":        false,
		"applyset.kubernetes.io/part-of":           false,
		"notified.notifications.argoproj.io":       false,
		"argocd.argoproj.io/hydrate":               false,
		"argocd.argoproj.io/refresh-timestamp":     false,
		"argocd.argoproj.io/hydrate-timestamp":     false,
		workv1.ManifestConfigSpecHashAnnotationKey: false,

		"notifications.argoproj.io/subscribe.on-deployed.slack": true,
		"argocd.argoproj.io/compare-options":                    true,
		"argocd.argoproj.io/sync-options":                       true,
		"argocd.argoproj.io/sync-wave":                          true,
		"argocd.argoproj.io/manifest-generate-paths":            true,
		"argocd.argoproj.io/managed-by-url":                     true,
		"argocd.argoproj.io/deletion-approved":                  true,
		"link.argocd.argoproj.io/grafana":                       true,
		"argocd-image-updater.argoproj.io/image-list":           true,
		"app.kubernetes.io/name":                                true,
		"app.kubernetes.io/part-of":                             true,
		"example.com/instance":                                  true,
	} {
		got := payloadOf(t, render(t, fixture.Application("guestbook").Annotation(key, "x").Label(key, "x")))
		if _, annotated := got.Annotations[key]; annotated != travels {
			t.Errorf("annotation %s travels: %t", key, annotated)
		}
		if _, labelled := got.Labels[key]; labelled != travels {
			t.Errorf("label %s travels: %t", key, labelled)
		}
	}
}

// TestRenderDropsFinalizers: a finalizer reaches the cluster only if every cluster's Argo CD removes the finalizer.
func TestRenderDropsFinalizers(t *testing.T) {
	for finalizer, travels := range map[string]bool{
		"resources-finalizer.argocd.argoproj.io":            true,
		"resources-finalizer.argocd.argoproj.io/background": true,
		"resources-finalizer.argocd.argoproj.io/foreground": true,
		"post-delete-finalizer.argocd.argoproj.io":          true,
		"post-delete-finalizer.argocd.argoproj.io/cleanup":  true,

		"pre-delete-finalizer.argocd.argoproj.io":         false,
		"pre-delete-finalizer.argocd.argoproj.io/cleanup": false,
		"argocd.argoproj.io/hook-finalizer":               false,
		"example.com/mine":                                false,
		metav1.FinalizerDeleteDependents:                  false,
		metav1.FinalizerOrphanDependents:                  false,
	} {
		got := payloadOf(t, render(t, fixture.Application("guestbook").Finalizers(finalizer))).Finalizers
		if slices.Contains(got, finalizer) != travels {
			t.Errorf("%s: %v travel", finalizer, got)
		}
	}
}

func TestRenderWithoutDestination(t *testing.T) {
	for _, spec := range []string{`{}`, `{"destination":null}`} {
		got := payloadOf(t, render(t, fixture.Application("a").Spec(spec)))
		if want := `{"destination":{"server":"https://kubernetes.default.svc"}}`; string(got.Spec.Raw) != want {
			t.Errorf("%s became %s", spec, got.Spec.Raw)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, spec := range []string{`[]`, `{"destination":"x"}`, `{`} {
		if _, err := work.Render(fixture.Application("a").Spec(spec).Obj(), work.Requests{}); err == nil {
			t.Errorf("%s was rendered", spec)
		}
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

// TestRenderAsksToHydrate: a user's refresh sets the refresh and the hydrate annotation, as Argo CD's own refresh
// does. Towline's own refresh sets no hydrate annotation.
func TestRenderAsksToHydrate(t *testing.T) {
	const hydrated = `{"project":"default","sourceHydrator":{"drySource":{"path":"a"}},"destination":{"name":"cluster1"}}`
	for title, tc := range map[string]struct{ spec, refresh, want string }{
		"normal":                  {hydrated, "normal", "normal"},
		"hard":                    {hydrated, "hard", "hard"},
		"Towline's own":           {hydrated, apis.RefreshSpecChanged, ""},
		"no refresh":              {hydrated, "", ""},
		"no hydrator":             {`{"destination":{"name":"cluster1"}}`, "hard", ""},
		"a hydrator that is null": {`{"sourceHydrator":null,"destination":{"name":"cluster1"}}`, "hard", ""},
	} {
		app := fixture.Application("guestbook").Spec(tc.spec).Obj()
		w, err := work.Render(app, work.Requests{Refresh: relay.Refresh{Kind: tc.refresh, ID: "one"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := payloadOf(t, w).Annotations[apis.AnnotationHydrate]; got != tc.want {
			t.Errorf("%s: asks for %q, want %q", title, got, tc.want)
		}
	}
}
