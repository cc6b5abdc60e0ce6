package resourcesync

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// indexed is a cache whose coarse index has one Application wherever it is looked for.
type indexed struct {
	client.Reader
	app *argocd.Application
}

func (h *indexed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*argocd.ApplicationList).Items = append(list.(*argocd.ApplicationList).Items, *h.app)
	return nil
}

// stuffed is the largest report that its schema lets through, more or less.
func stuffed(app *argocd.Application, name string) *v1alpha1.ApplicationReport {
	r := &v1alpha1.ApplicationReport{ObservedAt: "2026-01-02T03:04:05Z"}
	r.Namespace, r.Name, r.UID, r.ResourceVersion, r.Generation = app.Cluster(), name, "u", "7", 3
	r.Annotations = map[string]string{"x": strings.Repeat("x", 200<<10)}
	r.Application = v1alpha1.ReportedApplication{Namespace: app.Namespace, Name: app.Name, ResourceVersion: "1"}
	for i := range 4096 {
		r.Status.Resources = append(r.Status.Resources, argocd.ResourceStatus{Kind: "Service", Name: fmt.Sprint(strings.Repeat("x", 200), i)})
	}
	return r
}

func size(t *testing.T, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// TestWhatIsHeldOfReports: a cluster decides neither how many of its reports are held nor how much of one.
func TestWhatIsHeldOfReports(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	a := &Agent{apps: &indexed{app: app}}
	trim := func(r *v1alpha1.ApplicationReport) *v1alpha1.ApplicationReport {
		t.Helper()
		out, err := a.trim(r)
		if err != nil {
			t.Fatal(err)
		}
		return out.(*v1alpha1.ApplicationReport)
	}
	expected := trim(stuffed(app, work.Name(app)))
	if n := size(t, expected); n > v1alpha1.MaxReportSize+4096 || trimmed(expected) {
		t.Errorf("%d bytes are held of a report", n)
	}
	if expected.Truncated == nil || expected.Truncated.Resources == 0 || len(expected.Status.Resources) == 0 {
		t.Errorf("nobody hears that something was left out: %+v", expected.Truncated)
	}
	if again := trim(expected.DeepCopy()); size(t, again) != size(t, expected) {
		t.Error("what is held is cut again")
	}
	other := trim(stuffed(app, "invented"))
	if n := size(t, other); n > 512 || !trimmed(other) {
		t.Errorf("%d bytes are held of a report that no Application accounts for", n)
	}
	if other.Name != "invented" || other.ResourceVersion != "7" || other.Generation != 3 {
		t.Errorf("got %+v", other.ObjectMeta)
	}
}

// TestRejectedValuesAreCountedOnce: for each observation, however many read it.
func TestRejectedValuesAreCountedOnce(t *testing.T) {
	key := work.Key(fixture.Application("counted").Obj())
	count := func() float64 { return value(t, rejectedValues.WithLabelValues("test.health")) }
	for _, step := range []struct {
		observation string
		fields      []string
		want        float64
	}{
		{"1", []string{"health"}, 1}, {"1", []string{"health"}, 1}, {"2", []string{"health"}, 2},
		{"2", nil, 2}, {"2", []string{"health"}, 3},
	} {
		for range 3 {
			noteRejected(t.Context(), "agent", key, step.observation, "test.", step.fields)
		}
		if got := count(); got != step.want {
			t.Errorf("%+v: counted %v", step, got)
		}
	}
}
