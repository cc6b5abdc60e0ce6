package payload_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/relay"
)

// workName is the name of the work of all Applications in these tests.
const workName = "guestbook-4a491"

// rendered returns the Application on its cluster.
func rendered(t *testing.T, b *fixture.ApplicationBuilder) *argocd.Application {
	t.Helper()
	return refreshed(t, b.Obj(), relay.Refresh{})
}

// refreshed returns the Application on its cluster, with a refresh.
func refreshed(t *testing.T, app *argocd.Application, refresh relay.Refresh) *argocd.Application {
	t.Helper()
	raw, err := payload.Render(app, workName, refresh)
	if err != nil {
		t.Fatal(err)
	}
	out := &argocd.Application{}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenderDropsFieldsForTheHub(t *testing.T) {
	app := fixture.Application("guestbook").Finalizers(metav1.FinalizerDeleteDependents, apis.FinalizerResources).
		Annotation(apis.AnnotationRefresh, "normal").Annotation("kubectl.kubernetes.io/last-applied-configuration", "{}")
	got := rendered(t, app)
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
		got := rendered(t, fixture.Application("guestbook").Annotation(key, "x").Label(key, "x"))
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
		got := rendered(t, fixture.Application("guestbook").Finalizers(finalizer)).Finalizers
		if slices.Contains(got, finalizer) != travels {
			t.Errorf("%s: %v travel", finalizer, got)
		}
	}
}

func TestRenderWithoutDestination(t *testing.T) {
	for _, spec := range []string{`{}`, `{"destination":null}`} {
		got := rendered(t, fixture.Application("a").Spec(spec))
		if want := `{"destination":{"server":"https://kubernetes.default.svc"}}`; string(got.Spec.Raw) != want {
			t.Errorf("%s became %s", spec, got.Spec.Raw)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, spec := range []string{`[]`, `{"destination":"x"}`, `{`} {
		if _, err := payload.Render(fixture.Application("a").Spec(spec).Obj(), workName, relay.Refresh{}); err == nil {
			t.Errorf("%s was rendered", spec)
		}
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
		got := refreshed(t, app, relay.Refresh{Kind: tc.refresh, ID: "one"})
		if got := got.Annotations[apis.AnnotationHydrate]; got != tc.want {
			t.Errorf("%s: asks for %q, want %q", title, got, tc.want)
		}
	}
}
