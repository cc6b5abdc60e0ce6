package work_test

import (
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// stripped returns a work in generation n, prepared by PrepareRemoval for a deletion that keeps the workload.
func stripped(t *testing.T, b *fixture.ApplicationBuilder, n int64) *workv1.ManifestWork {
	t.Helper()
	w := render(t, b)
	w.Generation = n
	out, changed := work.PrepareRemoval(w, nil)
	if !changed || !work.ReportsFinalizers(out) || work.ReportsFinalizers(w) {
		t.Fatalf("changed: %t, it asks: %t, it asked: %t", changed, work.ReportsFinalizers(out), work.ReportsFinalizers(w))
	}
	return out
}

// TestLeft: a reading from before the apply of the change does not count.
func TestLeft(t *testing.T) {
	b := fixture.Application("guestbook").Finalizers(apis.FinalizerResources)
	report := func(mark string) *fixture.FeedbackBuilder {
		return fixture.Feedback(work.Identifier(b.Obj())).String("finalizersDropped", mark)
	}
	for title, tc := range map[string]struct {
		report *fixture.FeedbackBuilder
		left   int
		known  bool
	}{
		"not read":                     {report: fixture.Feedback(work.Identifier(b.Obj()))},
		"read at an earlier change":    {report: report("3")},
		"gone":                         {report: report("7"), known: true},
		"held by others":               {report: report("7").String("finalizerLeft-background", "x"), left: 1, known: true},
		"held by others at an earlier": {report: report("3").String("finalizerLeft", "x"), left: 1},
	} {
		t.Run(title, func(t *testing.T) {
			w := stripped(t, b, 7)
			w.Status = tc.report.Obj()
			if left, known := work.ReportOf(w).RemainingFinalizers(); len(left) != tc.left || known != tc.known {
				t.Errorf("%v, known: %t", left, known)
			}
		})
	}
	if _, known := work.ReportOf(render(t, b)).RemainingFinalizers(); !known {
		t.Error("a work that says nothing of it is waited for")
	}
}

// TestLeftEndsWithTheRemoval: one change removes the mark and the feedback rule if the work stays in use or is
// released. If the workload is to go after all, the rule stays, with a new mark.
func TestLeftEndsWithTheRemoval(t *testing.T) {
	b := fixture.Application("guestbook").Finalizers(apis.FinalizerResources)
	w := stripped(t, b, 7)
	put, _ := work.Update(w, render(t, b))
	released, err := work.Release(w, nil)
	if err != nil || !work.Released(released) {
		t.Fatal(err)
	}
	for title, out := range map[string]*workv1.ManifestWork{"in use": put, "released": released} {
		raw := string(out.Spec.Workload.Manifests[0].Raw)
		if work.ReportsFinalizers(out) || strings.Contains(raw, apis.AnnotationFinalizersDropped) {
			t.Errorf("%s: it asks: %t, %s", title, work.ReportsFinalizers(out), raw)
		}
		if has := strings.Contains(raw, apis.FinalizerResources); has == (title == "released") {
			t.Errorf("%s: its finalizer is there: %t", title, has)
		}
	}
	w.Generation++
	cascading, changed := work.PrepareRemoval(w, []string{apis.FinalizerResources})
	raw := string(cascading.Spec.Workload.Manifests[0].Raw)
	if !changed || !work.ReportsFinalizers(cascading) || !strings.Contains(raw, apis.FinalizerResources) || !strings.Contains(raw, `dropped":"8"`) {
		t.Errorf("to cascade: changed: %t, %s", changed, raw)
	}
}

// TestLeftOfAWorkWithoutOptions: the works of the first pull controllers have no ManifestConfigs.
func TestLeftOfAWorkWithoutOptions(t *testing.T) {
	w := render(t, fixture.Application("guestbook").Finalizers(apis.FinalizerResources))
	id := w.Spec.ManifestConfigs[0].ResourceIdentifier
	w.Spec.ManifestConfigs = nil
	out, _ := work.PrepareRemoval(w, nil)
	if !work.ReportsFinalizers(out) || out.Spec.ManifestConfigs[0].ResourceIdentifier != id {
		t.Errorf("%+v", out.Spec.ManifestConfigs)
	}
}
