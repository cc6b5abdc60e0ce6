package propagation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// TestUnfinished: what holds up a removal runs on the cluster, or was brought there and not heard of since.
func TestUnfinished(t *testing.T) {
	operation := relay.Sent{State: relay.Delivered, ID: "1-a", Version: "5", Digest: "d"}
	carries := operation
	carries.State = relay.OnItsWay
	for title, tc := range map[string]struct {
		sent     relay.Sent
		applied  metav1.ConditionStatus
		there    relay.Cluster
		complete bool
		want     bool
	}{
		"nothing":                 {complete: true},
		"one that is over":        {there: relay.Cluster{Taken: "1-a", StartedAt: "x"}, complete: true},
		"runs":                    {there: relay.Cluster{Taken: "1-a", Pending: "1-a", Busy: true}, complete: true, want: true},
		"waits":                   {there: relay.Cluster{Pending: "1-a"}, complete: true, want: true},
		"not the hub's":           {there: relay.Cluster{Busy: true}, complete: true, want: true},
		"taken off there":         {there: relay.Cluster{Taken: "1-a", Busy: true}, complete: true},
		"perhaps taken off there": {there: relay.Cluster{Taken: "1-a", Busy: true}, want: true},
		"not applied":             {sent: carries, there: relay.Cluster{Version: "5"}, complete: true},
		"refused":                 {sent: carries, applied: "False", there: relay.Cluster{Version: "5"}, complete: true},
		"applied, not heard of":   {sent: carries, applied: "True", there: relay.Cluster{Version: "5"}, complete: true, want: true},
		"applied, and over":       {sent: carries, applied: "True", there: relay.Cluster{Version: "6"}, complete: true},
		"delivered, not heard of": {sent: operation, there: relay.Cluster{Version: "5"}, complete: true, want: true},
		"delivered, and over":     {sent: operation, there: relay.Cluster{Version: "6"}, complete: true},
		"a termination that has been applied": {
			sent: relay.Sent{State: relay.OnItsWay, ID: "terminate/x", Version: "5"}, applied: "True", there: relay.Cluster{Version: "5"}},
	} {
		t.Run(title, func(t *testing.T) {
			w := &workv1.ManifestWork{}
			w.Annotations = map[string]string{apis.AnnotationRequestSent: tc.sent.String()}
			if tc.applied != "" {
				w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: tc.applied}}
			}
			if got := unfinished(w, tc.there, tc.complete); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestACompleteReportWakes what waits for an operation that was taken off there.
func TestACompleteReportWakes(t *testing.T) {
	id := work.Identifier(fixture.Application("guestbook").Obj())
	report := fixture.Feedback(id).String("operationStatePhase", "Running")
	whole := &workv1.ManifestWork{Status: report.Obj()}
	whole.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{ResourceIdentifier: id}}
	partial := whole.DeepCopy()
	partial.Status = report.Condition("StatusFeedbackSynced", metav1.ConditionFalse, "a rule failed").Obj()
	if !workChanged().Update(event.UpdateEvent{ObjectOld: partial, ObjectNew: whole}) {
		t.Error("nothing looks again")
	}
}
