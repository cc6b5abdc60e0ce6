package status

import (
	"bytes"
	"encoding/json"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// merge is the status that the hub should show by what is known of the cluster; facts is nil when nothing is. What
// was not observed stays as it is, except where a complete observation shows that the cluster's Application has no
// such thing: an operation that is not there any more, a condition that is over, anything of the cluster that the
// Application was on before.
func merge(current *argocd.Status, facts *resourcesync.Facts, troubles []argocd.Condition, now metav1.Time) argocd.Status {
	if facts == nil {
		facts = &resourcesync.Facts{}
	}
	out := *current.DeepCopy()
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
	if facts.Compared || s.ReconciledAt > out.ReconciledAt {
		out.ReconciledAt = s.ReconciledAt
	}
	if facts.Detailed {
		out.Resources, out.Summary = s.Resources, s.Summary
	}
	if len(s.History) > 0 {
		out.History = s.History
	}
	out.Conditions = mergeConditions(current.Conditions, slices.Concat(s.Conditions, troubles), facts.Complete || facts.ConditionsComplete, now)
	return out
}

// mergeConditions is the list with this controller's conditions brought up to date. Those of propagation and of
// others stay. An unchanged list keeps its order, and an unchanged condition its time, unless the cluster tells one.
func mergeConditions(current, seen []argocd.Condition, known bool, now metav1.Time) []argocd.Condition {
	out := make([]argocd.Condition, 0, len(current)+len(seen))
	for _, c := range current {
		i := slices.IndexFunc(seen, func(s argocd.Condition) bool { return s.Type == c.Type })
		switch {
		case i >= 0 && (seen[i].Message != c.Message || seen[i].LastTransitionTime != nil):
			out = append(out, since(seen[i], now))
		case i >= 0, !ends(c.Type, known):
			out = append(out, c)
		}
	}
	for _, s := range seen {
		if !slices.ContainsFunc(current, func(c argocd.Condition) bool { return c.Type == s.Type }) {
			out = append(out, since(s, now))
		}
	}
	return out
}

// since is a condition with the time from which it is so: the cluster's, where it told one.
func since(c argocd.Condition, now metav1.Time) argocd.Condition {
	if c.LastTransitionTime == nil {
		c.LastTransitionTime = &now
	}
	return c
}

// ends tells whether a condition goes when it is not seen: those that the hub knows of itself always do; those of the
// cluster's Argo CD only when the observation is complete.
func ends(conditionType string, known bool) bool {
	if slices.Contains(ofHub, conditionType) {
		return true
	}
	return known && (conditionType == apis.ConditionOperationError || slices.Contains(feedback.ConditionTypes, conditionType))
}

// diff is the merge patch that turns the Application's status into the given one; nil when they are the same. A
// patch with conditions, which replaces a list that others write to, holds for the version that was read only.
func diff(app *argocd.Application, status *argocd.Status) ([]byte, error) {
	before, err := json.Marshal(&app.Status)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(status)
	if err != nil || bytes.Equal(before, after) {
		return nil, err
	}
	change, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil || string(change) == "{}" {
		return nil, err
	}
	patch := struct {
		Metadata *version        `json:"metadata,omitempty"`
		Status   json.RawMessage `json:"status"`
	}{Status: change}
	if !sameConditions(app.Status.Conditions, status.Conditions) {
		patch.Metadata = &version{app.ResourceVersion}
	}
	return json.Marshal(patch)
}

type version struct {
	ResourceVersion string `json:"resourceVersion"`
}

func sameConditions(a, b []argocd.Condition) bool {
	return slices.EqualFunc(a, b, func(x, y argocd.Condition) bool {
		return x.Type == y.Type && x.Message == y.Message && x.LastTransitionTime.Equal(y.LastTransitionTime)
	})
}
