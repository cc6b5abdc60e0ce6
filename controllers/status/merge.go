package status

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/observed"
)

// merge is the status that the hub should show by what is known of the cluster; facts is nil when nothing is. What
// was not observed stays as it is, except where a complete observation shows that the cluster's Application has no
// such thing: an operation that is not there any more, a condition that is over, anything of the cluster that the
// Application was on before.
func merge(current *argocd.Status, facts *observed.Facts, troubles []argocd.Condition, now metav1.Time) argocd.Status {
	if facts == nil {
		facts = &observed.Facts{}
	}
	out := *current // what is in it is replaced, and not changed
	s := &facts.Status
	if !facts.Complete {
		s = withKnown(s, current)
	}
	if s.Health.Status != "" || facts.Complete {
		out.Health = s.Health
	}
	if s.Sync != nil || facts.Complete {
		out.Sync = s.Sync
	}
	if s.OperationState != nil || facts.Complete {
		out.OperationState = s.OperationState
	}
	if facts.Compared || s.ReconciledAt > out.ReconciledAt || misdated(current, facts) {
		out.ReconciledAt = s.ReconciledAt
	}
	if s.SourceType != "" || len(s.SourceTypes) > 0 || facts.Complete {
		out.SourceType, out.SourceTypes = s.SourceType, s.SourceTypes
	}
	if facts.Complete && out.Pushed {
		out.Resources, out.Summary, out.Pushed = nil, nil, false
	}
	if facts.Detailed {
		out.Resources, out.Summary = s.Resources, s.Summary
	}
	out.Conditions = argocd.SetConditions(current.Conditions, slices.Concat(s.Conditions, ofResources(s), troubles),
		func(conditionType string) bool { return ends(conditionType, facts, &out) }, now)
	return out
}

// misdated tells whether a comparison that the hub shows cannot be after the last operation, though its time is: the clock of the cluster
// before, or that of this one then, was ahead. Who waits for a comparison would take it for the one.
//
// A comparison in the second in which the operation ended may be after it, if the hub shows that end already: the cluster may have said so, and have
// taken it back; see feedback.ComparedRules.
func misdated(shown *argocd.Status, facts *observed.Facts) bool {
	if facts.Uncompared == "" || facts.Status.ReconciledAt >= facts.Uncompared {
		return false
	}
	ended := shown.OperationState != nil && shown.OperationState.FinishedAt == facts.Uncompared
	return shown.ReconciledAt > facts.Uncompared || shown.ReconciledAt == facts.Uncompared && !ended
}

// ofResources is why the Application is Degraded, where that is known.
func ofResources(s *argocd.Status) []argocd.Condition {
	why := observed.WhyDegraded(s)
	if why == "" {
		return nil
	}
	return []argocd.Condition{{Type: apis.ConditionResourcesDegraded, Message: feedback.Clean(why, feedback.MaxMessage)}}
}

// ends tells whether a condition goes when it is not seen, by what was seen and what is shown with it: those of the way to the
// cluster always do; those of the cluster's Argo CD only when the observation is complete.
func ends(conditionType string, facts *observed.Facts, shown *argocd.Status) bool {
	if facts.Hydrating && conditionType == apis.ConditionHydrationError {
		return false
	}
	known := facts.Complete || facts.ConditionsComplete
	switch apis.ConditionRuleOf(conditionType).Owner {
	case apis.OwnerStatus:
		return true
	case apis.OwnerCluster:
		return known || conditionType == apis.ConditionResourcesDegraded && shown.Health.Status != "Degraded"
	}
	return known && slices.Contains(feedback.ConditionTypes, conditionType)
}

// diff is the patch that turns the Application's status into the given one. It has nothing in it when they are the same. Where it tells of
// an operation, it is bound to the version that was read: somebody may have asked to stop the operation since, in the same field.
func diff(app *argocd.Application, status argocd.Status) (*argocd.Patch, error) {
	out := &argocd.Patch{}
	if !argocd.SameConditions(app.Status.Conditions, status.Conditions) {
		out.Conditions = status.Conditions
	}
	status.Conditions = app.Status.Conditions
	if reflect.DeepEqual(&app.Status, &status) {
		return out, nil // as nearly always
	}
	before, err := json.Marshal(&app.Status)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(&status)
	if err != nil || bytes.Equal(before, after) && app.Status.Pushed == status.Pushed {
		return out, err
	}
	change, err := jsonpatch.CreateMergePatch(before, after)
	if err == nil && app.Status.Pushed && !status.Pushed {
		change, err = withoutPushed(change, &status)
	}
	if string(change) != "{}" {
		out.Status = change
		out.Exact = !reflect.DeepEqual(app.Status.OperationState, status.OperationState)
	}
	return out, err
}
