package work_test

import (
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

const conflict = `Apply failed with 1 conflict: conflict with "kubectl-edit": .spec.project`

// told returns the work with its agent's finalizer and the given report, for the current generation.
func told(w *workv1.ManifestWork, b *fixture.FeedbackBuilder) *workv1.ManifestWork {
	out := w.DeepCopy()
	out.Finalizers = []string{workv1.ManifestWorkFinalizer}
	out.Status = b.Obj()
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].ObservedGeneration = out.Generation
	}
	return out
}

// ending returns generation 8 of a work, prepared for deletion with the given finalizers. The work asks the agent
// about the finalizers and the owner.
func ending(t *testing.T, claim work.UpdateMode, finalizers ...string) *workv1.ManifestWork {
	t.Helper()
	first := render(t, fixture.Application("guestbook"))
	work.SetUpdateMode(first, claim)
	first.Generation = 7
	first.Finalizers = []string{workv1.ManifestWorkFinalizer}
	out, changed := work.PrepareRemoval(first, finalizers)
	if !changed || !work.ReportsFinalizers(out) || work.UpdateModeOf(out) != claim {
		t.Fatalf("changed: %t, %+v", changed, out.Spec)
	}
	out.Generation++
	return out
}

func report(w *workv1.ManifestWork) *fixture.FeedbackBuilder {
	return fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier)
}

// TestHeeded: the deletion of a work needs proof of the fate of its Application on the cluster.
func TestHeeded(t *testing.T) {
	self, other := strings.Repeat("a", 64)+"-guestbook-4a491", strings.Repeat("a", 64)+"-my-guestbook-4a491"
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	type builder = *fixture.FeedbackBuilder
	for title, tc := range map[string]struct {
		claim       work.UpdateMode
		says        func(builder) builder
		stays, goes bool // whether the work may be deleted if the workload is to stay, and if the workload is to go
	}{
		"applied, and read since": {work.ForceApply, func(b builder) builder { return b.String("finalizersDropped", "7") }, true, false},
		"applied, and not read":   {work.ForceApply, func(b builder) builder { return b }, false, false},
		"applied, and held by others": {work.ForceApply, func(b builder) builder {
			return b.String("finalizersDropped", "7").String("finalizerLeft", "x")
		}, false, true},
		"no Application":                      {work.ForceApply, func(b builder) builder { return b.Refused("forbidden", no) }, true, true},
		"not to be read":                      {work.ForceApply, func(b builder) builder { return b.Refused("connection refused", unknown) }, false, false},
		"of no known kind":                    {work.ForceApply, builder.Unmapped, false, false},
		"refused, and the Application exists": {work.ForceApply, func(b builder) builder { return b.Refused("forbidden", yes) }, false, false},
		"refused, and the Application cascades": {
			work.ForceApply, func(b builder) builder { return b.Refused("forbidden", yes).String("finalizerLeft", "x") }, false, true,
		},
		"in conflict, without an owner": {work.Apply, func(b builder) builder { return b.Refused(conflict, yes) }, true, true},
		"in conflict, owned by the work": {
			work.Apply, func(b builder) builder { return b.Refused(conflict, yes).String("workOwner", self) }, false, false},
		"in conflict, owned by a second work": {
			work.Apply, func(b builder) builder { return b.Refused(conflict, yes).String("workOwner", other) }, false, false},
		"in conflict, not read": {work.Apply, func(b builder) builder { return b.Refused(conflict, unknown) }, false, false},
		"in conflict, unread": {work.Apply, func(b builder) builder {
			return b.Refused(conflict, yes).Condition("StatusFeedbackSynced", no, "failed to find value for workOwner")
		}, false, false},
		"in conflict, a different value unread": {work.Apply, func(b builder) builder {
			return b.Refused(conflict, yes).Condition("StatusFeedbackSynced", no, "failed to find value for healthStatus")
		}, true, true},
		"a failure, without an owner":   {work.Apply, func(b builder) builder { return b.Refused("timeout", yes) }, false, false},
		"looked for, without an owner":  {work.ReadOnly, func(b builder) builder { return b }, true, true},
		"looked for, owned by the work": {work.ReadOnly, func(b builder) builder { return b.String("workOwner", self) }, false, false},
		"looked for, no Application":    {work.ReadOnly, func(b builder) builder { return b.Condition(workv1.WorkAvailable, no, "") }, true, true},
		"looked for, not to read":       {work.ReadOnly, func(b builder) builder { return b.Condition(workv1.WorkAvailable, unknown, "") }, false, false},
	} {
		t.Run(title, func(t *testing.T) {
			stays, goes := ending(t, tc.claim), ending(t, tc.claim, apis.FinalizerResources)
			if got := work.ReportOf(told(stays, tc.says(report(stays)))).FinalizersDropped(false); got != tc.stays {
				t.Errorf("to stay: %t", got)
			}
			if got := work.ReportOf(told(goes, tc.says(report(goes)))).FinalizersDropped(true); got != tc.goes {
				t.Errorf("to go: %t", got)
			}
			late := told(stays, tc.says(report(stays)))
			if late.Generation++; work.ReportOf(late).FinalizersDropped(false) || work.ReportOf(late).FinalizersDropped(true) {
				t.Error("the answer to an earlier version counts")
			}
		})
	}
}

// TestOwnedBy: only a reading for the current generation proves that another work on the same cluster owns the
// Application.
func TestOwnedBy(t *testing.T) {
	w := ending(t, work.ReadOnly)
	other := w.DeepCopy()
	other.Name = "guestbook-22222"
	elsewhere := other.DeepCopy()
	elsewhere.Namespace = "cluster2"
	owned := told(w, report(w).String("workOwner", strings.Repeat("a", 64)+"-"+other.Name))
	earlier := owned.DeepCopy()
	earlier.Generation++
	for title, tc := range map[string]struct {
		w, by *workv1.ManifestWork
		want  bool
	}{
		"a second work":                     {owned, other, true},
		"the work itself":                   {owned, w, false},
		"a second work on a second cluster": {owned, elsewhere, false},
		"as read for an earlier form":       {earlier, other, false},
		"no owner":                          {told(w, report(w)), other, false},
	} {
		if got := work.ReportOf(tc.w).OwnedBy(tc.by); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

// TestHeededByAFirstWork: a first work in its first generation has delivered nothing, and needs no proof if the
// workload is to go.
func TestHeededByAFirstWork(t *testing.T) {
	for title, tc := range map[string]struct {
		edit        func(*workv1.ManifestWork)
		stays, goes bool
	}{
		"the first version": {func(*workv1.ManifestWork) {}, false, true},
		"a later version":   {func(w *workv1.ManifestWork) { w.Generation = 2 }, false, false},
		"a recreated work":  {func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationRecreated] = "x" }, false, false},
		"a work with a request": {func(w *workv1.ManifestWork) {
			w.Annotations[apis.AnnotationRequestSent] = "sent 1-a 7 -"
		}, false, false},
	} {
		w := render(t, fixture.Application("guestbook").Finalizers(apis.FinalizerResources))
		w.Generation = 1
		tc.edit(w)
		if stays, goes := work.ReportOf(w).FinalizersDropped(false), work.ReportOf(w).FinalizersDropped(true); stays != tc.stays || goes != tc.goes {
			t.Errorf("%s: to stay %t, to go %t", title, stays, goes)
		}
	}
}

// TestAskAgain: after AskAgain, only a new answer of the agent counts, and the rest of the work stays the same.
func TestAskAgain(t *testing.T) {
	w := ending(t, work.ForceApply)
	silent := told(w, report(w).Unmapped())
	if !work.ReportOf(silent).Unread(false) || work.AskedAgain(silent) {
		t.Fatal("the case that this is about is another one")
	}
	out, err := work.AskAgain(silent)
	if err != nil || !work.AskedAgain(out) || !work.ReportsFinalizers(out) {
		t.Fatalf("%v, %+v", err, out.Spec)
	}
	if _, changed := work.PrepareRemoval(out, nil); changed {
		t.Error("it is asked once more")
	}
	if out.Generation++; work.ReportOf(out).FinalizersDropped(false) {
		t.Error("the answer to the first question counts")
	}
	if !work.ReportOf(told(out, report(out).Unmapped())).FinalizersDropped(false) {
		t.Error("the answer to the second one does not count")
	}
}

// TestRemovableForcesOwnedApplications: edits by others do not keep an Application that the work owns. A work does not
// change an Application with another owner, or with none.
func TestRemovableForcesOwnedApplications(t *testing.T) {
	for title, tc := range map[string]struct {
		owner string
		want  work.UpdateMode
	}{
		"owned by the work":      {strings.Repeat("a", 64) + "-guestbook-4a491", work.ForceApply},
		"without an owner":       {"", work.Apply},
		"owned by a second work": {strings.Repeat("a", 64) + "-another-4a491", work.Apply},
	} {
		w := ending(t, work.Apply)
		b := report(w).Refused(conflict, metav1.ConditionTrue)
		if tc.owner != "" {
			b.String("workOwner", tc.owner)
		}
		out, changed := work.PrepareRemoval(told(w, b), nil)
		if work.UpdateModeOf(out) != tc.want || changed != (tc.want == work.ForceApply) {
			t.Errorf("%s: changed %t, it does %d", title, changed, work.UpdateModeOf(out))
		}
	}
	unseen := render(t, fixture.Application("guestbook"))
	if out, _ := work.PrepareRemoval(unseen, nil); work.UpdateModeOf(out) != work.ReadOnly {
		t.Error("an agent that comes late makes what is to go")
	}
	left := render(t, fixture.Application("guestbook"))
	work.SetUpdateMode(left, work.CreateOnly)
	if _, changed := work.PrepareRemoval(left, nil); changed {
		t.Error("a work that only makes what is not there would own what is")
	}
}

// TestWithdrawn: a request carries no finalizers, so the content after a request brings the finalizers.
func TestWithdrawn(t *testing.T) {
	app := fixture.Application("guestbook").Finalizers("example.com/mine").Obj()
	carrying := render(t, fixture.Application("guestbook"))
	carrying.Annotations[apis.AnnotationRequestSent] = "sent 1-a 7 -"
	if err := work.Carry(carrying, app, work.Request{Operation: []byte(`{"sync":{}}`), Version: "7"}); err != nil {
		t.Fatal(err)
	}
	for title, tc := range map[string]struct {
		sent       bool
		finalizers []string
		holds      []string
		not        string
	}{
		"to go":                    {true, []string{apis.FinalizerResources}, []string{`"spec"`, apis.FinalizerResources}, `"operation"`},
		"to stay":                  {true, nil, []string{`"spec"`}, apis.FinalizerResources},
		"to go, may not be sent":   {false, []string{apis.FinalizerResources}, []string{apis.FinalizerResources}, `"spec"`},
		"to stay, may not be sent": {false, nil, nil, `"spec"`},
	} {
		t.Run(title, func(t *testing.T) {
			sent := app
			if !tc.sent {
				sent = nil
			}
			out, err := work.Withdrawn(carrying, sent, tc.finalizers)
			if err != nil {
				t.Fatal(err)
			}
			raw := string(out.Spec.Workload.Manifests[0].Raw)
			for _, part := range tc.holds {
				if !strings.Contains(raw, part) {
					t.Errorf("no %s in %s", part, raw)
				}
			}
			if strings.Contains(raw, tc.not) || work.CarriesRequest(out) {
				t.Errorf("it carries %s", raw)
			}
			if released := work.Released(out); released != (!tc.sent && tc.finalizers == nil) || !released && !work.ReportsFinalizers(out) {
				t.Errorf("released: %t, it asks: %t", released, work.ReportsFinalizers(out))
			}
			if _, changed := work.PrepareRemoval(out, tc.finalizers); changed && !work.Released(out) {
				t.Error("it is changed once more")
			}
		})
	}
}

// TestLastingUnread: a lasting failure to read the Application does not block a deletion with the workload. The
// failure blocks a deletion that keeps the workload, unless the cluster does not know the kind Application.
func TestLastingUnread(t *testing.T) {
	for title, tc := range map[string]struct {
		says        func(*fixture.FeedbackBuilder) *fixture.FeedbackBuilder
		stays, goes bool
	}{
		"of no known kind": {(*fixture.FeedbackBuilder).Unmapped, true, true},
		"forbidden": {func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.Refused("forbidden", metav1.ConditionUnknown)
		}, false, true},
		"refused, it is there": {func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.Refused("forbidden", metav1.ConditionTrue)
		}, false, false},
	} {
		for destroys, want := range map[bool]bool{false: tc.stays, true: tc.goes} {
			var finalizers []string
			if destroys {
				finalizers = []string{apis.FinalizerResources}
			}
			w, err := work.AskAgain(ending(t, work.ForceApply, finalizers...))
			if err != nil {
				t.Fatal(err)
			}
			w.Generation++
			if got := work.ReportOf(told(w, tc.says(report(w)))).FinalizersDropped(destroys); got != want {
				t.Errorf("%s, to go %t: %t", title, destroys, got)
			}
		}
	}
}

// TestCascadeNeedsItsFinalizer: a user on the cluster may have removed the finalizer for the removal of the workload.
// The work then restores the finalizer before its deletion.
func TestCascadeNeedsItsFinalizer(t *testing.T) {
	finalizers := []string{apis.FinalizerResources}
	w := render(t, fixture.Application("guestbook").Finalizers(finalizers...))
	for title, tc := range map[string]struct {
		generation int64
		says       func(*fixture.FeedbackBuilder) *fixture.FeedbackBuilder
		goes       bool
	}{
		"the finalizer exists":               {7, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder { return b }, true},
		"the finalizer exists, a first work": {1, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder { return b }, true},
		"removed":                            {7, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder { return b.String("finalizer", "") }, false},
		"removed, a first work":              {1, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder { return b.String("finalizer", "") }, false},
		"a foreign finalizer alone": {7, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.String("finalizer", "example.com/mine")
		}, false},
		"a finalizer in a different form, in a list": {7, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.Raw("finalizer", `["`+apis.FinalizerResources+`/background","x"]`)
		}, true},
		"a first work that is not applied": {1, func(b *fixture.FeedbackBuilder) *fixture.FeedbackBuilder {
			return b.String("finalizer", "").Refused("forbidden", metav1.ConditionTrue)
		}, true},
	} {
		t.Run(title, func(t *testing.T) {
			w.Generation = tc.generation
			there := told(w, tc.says(report(w)))
			out, changed := work.PrepareRemoval(there, finalizers)
			if changed == tc.goes || work.ReportOf(there).FinalizersDropped(true) != tc.goes {
				t.Fatalf("changed: %t, it may go: %t", changed, work.ReportOf(there).FinalizersDropped(true))
			}
			if tc.goes {
				return
			}
			out.Generation++
			mark := strconv.FormatInt(tc.generation, 10)
			read := told(out, report(out).String("finalizersDropped", mark).String("finalizerLeft", apis.FinalizerResources))
			if !work.ReportsFinalizers(out) || work.ReportOf(told(out, report(out))).FinalizersDropped(true) || !work.ReportOf(read).FinalizersDropped(true) {
				t.Error("it does not wait for the answer, or waits on")
			}
			gone := work.ReportOf(told(out, report(out).String("finalizersDropped", mark)))
			if !gone.Uncascaded() || gone.FinalizersDropped(true) {
				t.Error("removed again, and it goes")
			}
		})
	}
}
