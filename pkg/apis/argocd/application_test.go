package argocd_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestApplicationKeepsUnknownFields(t *testing.T) {
	const in = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"a","namespace":"b"},` +
		`"spec":{"newer":{"n":12345678901234567890,"f":1.50}},"operation":{"sync":{"newer":true}},"newTop":{"x":[1,2]}}`
	app := &argocd.Application{}
	if err := json.Unmarshal([]byte(in), app); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(in), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"spec", "operation", "newTop"} {
		if diff := cmp.Diff(string(want[field]), string(got[field])); diff != "" {
			t.Errorf("%s changed (-want +got):\n%s", field, diff)
		}
	}
}

func TestApplicationWithAStatusThatDoesNotFit(t *testing.T) {
	app := &argocd.Application{}
	in := `{"metadata":{"name":"a"},"spec":{},"status":{"health":"of another shape"}}`
	if err := json.Unmarshal([]byte(in), app); err != nil {
		t.Fatalf("one odd status keeps the Application, and so the list, from being read: %v", err)
	}
	if app.Name != "a" || app.Status.Health.Status != "" || !slices.Equal(app.Status.Unreadable, []string{"health"}) {
		t.Errorf("got %+v", app)
	}
	err := json.Unmarshal([]byte(`{"metadata":{"name":"a"},"spec":{},"status":[]}`), app)
	if err != nil || !slices.Equal(app.Status.Unreadable, []string{"status"}) {
		t.Errorf("a status that is no object: %v, %+v", err, app.Status)
	}
}

func TestApplicationThatIsNoObject(t *testing.T) {
	for _, in := range []string{`[]`, `{"metadata":"x"}`, `{"kind":7}`} {
		if err := json.Unmarshal([]byte(in), &argocd.Application{}); err == nil {
			t.Errorf("%s was taken for an Application", in)
		}
	}
}

func TestDeepCopySharesNothing(t *testing.T) {
	app := fixture.Application("a").Unknown("x", `{"y":1}`).Obj()
	other := app.DeepCopy()
	other.Spec.Raw[0], other.Unknown["x"][0] = 'X', 'X'
	if app.Spec.Raw[0] == 'X' || app.Unknown["x"][0] == 'X' {
		t.Error("the copy shares bytes with the original")
	}
}

func TestPulledAndSkipped(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "1": true, "false": false, "": false, "yes": false} {
		app := fixture.Application("a").Label(apis.LabelPull, value).Annotation(apis.AnnotationSkipReconcile, value).Obj()
		if got := app.Pulled(); got != want {
			t.Errorf("Pulled with %q = %t", value, got)
		}
		if got := app.ReconcileSkipped(); got != want {
			t.Errorf("ReconcileSkipped with %q = %t", value, got)
		}
	}
}

// TestRefresh checks that Refresh reads the annotation like Argo CD (2.14).
func TestRefresh(t *testing.T) {
	for value, want := range map[string]string{"hard": "hard", "normal": "normal", "": "normal", "HARD": "normal", "a b": "normal"} {
		if got := fixture.Application("a").Annotation(apis.AnnotationRefresh, value).Obj().Refresh(); got != want {
			t.Errorf("%q asks for a refresh of kind %q, want %q", value, got, want)
		}
	}
	if got := fixture.Application("a").Obj().Refresh(); got != "" {
		t.Errorf("an Application without the annotation asks for a refresh of kind %q", got)
	}
}

func TestApplicationSet(t *testing.T) {
	if name, ok := fixture.Application("a").ApplicationSet("set").Obj().ApplicationSet(); !ok || name != "set" {
		t.Errorf("got %q, %t", name, ok)
	}
	foreign := fixture.Application("a").ApplicationSet("set").Obj()
	foreign.OwnerReferences[0].APIVersion = "example.com/v1"
	if _, ok := foreign.ApplicationSet(); ok {
		t.Error("an ApplicationSet of another API group was taken for Argo CD's")
	}
}

func TestCascades(t *testing.T) {
	for finalizer, want := range map[string]bool{
		"resources-finalizer.argocd.argoproj.io":            true,
		"resources-finalizer.argocd.argoproj.io/background": true,
		"resources-finalizer.argocd.argoproj.io/foreground": true,
		"post-delete-finalizer.argocd.argoproj.io/cleanup":  true,
		"pre-delete-finalizer.argocd.argoproj.io":           true,
		"pre-delete-finalizer.argocd.argoproj.io/cleanup":   true,
		"argocd.argoproj.io/hook-finalizer":                 false,
		"example.com/resources-finalizer":                   false,
		"foregroundDeletion":                                false,
	} {
		if got := fixture.Application("a").Finalizers(finalizer).Obj().Cascades(); got != want {
			t.Errorf("%s: Cascades = %t", finalizer, got)
		}
	}
}
