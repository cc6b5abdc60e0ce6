package delivery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// editedThere sets the agent's report of an edit on the cluster after an apply at the given time.
func editedThere(appliedAt string) func(*workv1.ManifestWork) {
	return evaluates(func(b *fixture.FeedbackBuilder) {
		b.Compared("").Evaluated(feedback.ConditionUnedited, metav1.ConditionFalse).String("agentAppliedAt", appliedAt)
	})
}

// remembers stores the count of edits, the last mark, and the time since the last repair in a work.
func remembers(count int, mark string, ago time.Duration) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		work.SetEditSeen(w, work.EditSeen{Count: count, Mark: mark, At: now.Add(-ago)})
	}
}

// TestEdits: one write of the work repairs an edit on the cluster. Repeated edits are repaired at growing intervals,
// and then the Application shows the edits.
func TestEdits(t *testing.T) {
	const one, other, known = "2023-11-14T22:13:20Z", "2023-11-14T22:13:21Z", "2023-11-14T22.13.20Z"
	repaired := []string{"update cluster1", "  event EditSetBack"}
	const tells = "EditedOnClusterWarning EditedAgain"
	asking := func(w *workv1.ManifestWork) { work.SetUpdateMode(w, work.Apply) }
	decides(t, map[string]row{
		"no edit":                {is: of(app()).own(t, quiet, says("")), want: []string{}},
		"the first edit":         {is: of(app()).own(t, quiet, editedThere(one)), want: repaired},
		"the same edit":          {is: of(app()).own(t, quiet, editedThere(one), remembers(1, known, time.Second)), want: []string{}},
		"a second edit, at once": {is: of(app()).own(t, quiet, editedThere(other), remembers(1, known, time.Second)), want: []string{"after 4s"}},
		"a second edit":          {is: of(app()).own(t, quiet, editedThere(other), remembers(1, known, 5*time.Second)), want: repaired},
		"a third edit, at once":  {is: of(app()).own(t, quiet, editedThere(other), remembers(2, known, 5*time.Second)), want: []string{"after 5s"}},
		"many edits, and a new edit": {
			is: of(app()).own(t, quiet, editedThere(other), remembers(3, known, time.Minute)), want: append(repaired, tells, "after 10m0s")},
		"many edits": {
			is: of(app()).own(t, quiet, says(""), remembers(4, known, time.Minute)), want: []string{tells, "after 9m0s"}},
		"many edits, long ago":                {is: of(app()).own(t, quiet, says(""), remembers(4, known, 10*time.Minute)), want: []string{}},
		"many edits long ago, and a new edit": {is: of(app()).own(t, quiet, editedThere(other), remembers(4, known, 10*time.Minute)), want: repaired},
		"no mark of Towline's":                {is: of(app()).own(t, quiet, editedThere("x; rm")), want: []string{}},
		"not applied yet":                     {is: of(app()).own(t, quiet, editedThere(one), unseenYet), want: []string{}},
		"the work asks":                       {is: of(app()).own(t, quiet, asking, editedThere(one)), want: repaired},
		"the work only looks": {
			is:   of(app()).own(t, quiet, func(w *workv1.ManifestWork) { work.SetUpdateMode(w, work.CreateOnly) }, editedThere(one)),
			want: []string{"update cluster1"}},
		"paused": {
			is: of(app()).own(t, quiet, editedThere(one)).with(func(s *situation) { s.Paused = "this Application" }), want: []string{"PausedWarning Paused"}},
	})
	plan := Decide(of(app()).own(t, quiet, asking, editedThere(one)).Facts, of(app()).Options)
	written := plan.Steps[0].Work
	if work.UpdateModeOf(written) != work.ForceApply || written.Labels[apis.LabelEditSeen] != "1_1700000000_"+known {
		t.Errorf("the edit is not set back by force, or forgotten: %v", written.Labels)
	}
	if _, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: written.Labels}); err != nil {
		t.Error(err)
	}
}
