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

// merge returns the status for the hub from the facts about the cluster; facts is nil if there are none. Values without
// an observation stay unchanged, with one exception: a complete observation shows that the cluster's Application does
// not have the value. Examples are a removed operation, a finished condition, and all values from the previous cluster
// of the Application.
func merge(current *argocd.Status, facts *observed.Facts, troubles []argocd.Condition, now metav1.Time) argocd.Status {
	if facts == nil {
		facts = &observed.Facts{}
	}
	out := *current // the fields are replaced, never changed in place
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

// misdated reports whether the shown comparison cannot be later than the last operation, although its time is later. In
// such a case, the clock of the previous cluster, or an earlier clock of this cluster, was ahead. A user who waits for
// a comparison would wrongly accept the shown comparison.
//
// A comparison in the same second as the end of the operation may be later than the operation, if the hub already shows
// this end. The cluster may have reported the comparison, and then withdrawn the report; see feedback.ConditionRules.
func misdated(shown *argocd.Status, facts *observed.Facts) bool {
	if facts.Uncompared == "" || facts.Status.ReconciledAt >= facts.Uncompared {
		return false
	}
	ended := shown.OperationState != nil && shown.OperationState.FinishedAt == facts.Uncompared
	return shown.ReconciledAt > facts.Uncompared || shown.ReconciledAt == facts.Uncompared && !ended
}

// ofResources returns the condition with the reason why the Application is Degraded, if the reason is known.
func ofResources(s *argocd.Status) []argocd.Condition {
	why := observed.WhyDegraded(s)
	if why == "" {
		return nil
	}
	return []argocd.Condition{{Type: apis.ConditionResourcesDegraded, Message: feedback.Clean(why, feedback.MaxMessage)}}
}

// ends reports whether a condition goes when the observation does not contain it. Conditions about the way to the
// cluster always go. Conditions from the cluster's Argo CD go only after a complete observation.
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

// diff returns the patch from the Application's status to the given status; an empty patch if both are equal. A patch
// of the operation is bound to the version of app, because a user may have requested a termination in the same field
// since.
func diff(app *argocd.Application, status argocd.Status) (*argocd.Patch, error) {
	out := &argocd.Patch{}
	if !argocd.SameConditions(app.Status.Conditions, status.Conditions) {
		out.Conditions = status.Conditions
	}
	status.Conditions = app.Status.Conditions
	if reflect.DeepEqual(&app.Status, &status) {
		return out, nil // the most frequent case
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
