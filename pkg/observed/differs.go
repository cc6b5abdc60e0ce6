package observed

import (
	"slices"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// differs tells whether a poorer source says anything else than a richer one of what both can tell. Where it does not, the
// richer one's account holds, with all that it has beside: the poorer one may only have looked again.
func (f *Facts) differs(rich *Facts) bool {
	s, r := &f.Status, &rich.Status
	return s.Health.Status != "" && s.Health.Status != r.Health.Status ||
		s.Sync != nil && !sameSync(s.Sync, r.Sync) ||
		(s.OperationState != nil || f.Complete && r.OperationState != nil) && !sameState(s.OperationState, r.OperationState) ||
		!sameConditions(s.Conditions, r.Conditions, f.allConditions())
}

// sameSync tells whether a comparison is the one that a richer source knows, which may know revisions of more sources.
func sameSync(poor, rich *argocd.Sync) bool {
	return rich != nil && poor.Status == rich.Status && (poor.Revision == "" || poor.Revision == rich.Revision) &&
		len(poor.Revisions) <= len(rich.Revisions) && slices.Equal(poor.Revisions, rich.Revisions[:len(poor.Revisions)])
}

func sameState(a, b *argocd.OperationState) bool {
	return a != nil && b != nil && a.Phase == b.Phase && a.StartedAt == b.StartedAt && a.FinishedAt == b.FinishedAt
}

// sameConditions tells whether a richer source knows these conditions, and no other that the poorer one, where it tells of
// all, would have told of.
func sameConditions(poor, rich []argocd.Condition, all bool) bool {
	for _, c := range poor {
		if !slices.ContainsFunc(rich, func(r argocd.Condition) bool { return r.Type == c.Type && r.Message == c.Message }) {
			return false
		}
	}
	return !all || !slices.ContainsFunc(rich, func(r argocd.Condition) bool {
		return slices.Contains(feedback.ConditionTypes, r.Type) && argocd.IndexCondition(poor, r.Type) < 0
	})
}
