package observed

import (
	"slices"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// differs reports whether a poorer source contradicts a richer source in the parts known to both. Without a
// contradiction, the facts of the richer source hold, with all details: the poorer source may only have read the same
// state again.
func (f *Facts) differs(rich *Facts) bool {
	s, r := &f.Status, &rich.Status
	return s.Health.Status != "" && s.Health.Status != r.Health.Status ||
		s.Sync != nil && !sameSync(s.Sync, r.Sync) ||
		(s.OperationState != nil || f.Complete && r.OperationState != nil) && !sameState(s.OperationState, r.OperationState) ||
		!sameConditions(s.Conditions, r.Conditions, f.allConditions())
}

// sameSync reports whether a comparison equals the comparison known to a richer source. The richer source may know
// the revisions of more sources.
func sameSync(poor, rich *argocd.Sync) bool {
	return rich != nil && poor.Status == rich.Status && (poor.Revision == "" || poor.Revision == rich.Revision) &&
		len(poor.Revisions) <= len(rich.Revisions) && slices.Equal(poor.Revisions, rich.Revisions[:len(poor.Revisions)])
}

func sameState(a, b *argocd.OperationState) bool {
	return a != nil && b != nil && a.Phase == b.Phase && a.StartedAt == b.StartedAt && a.FinishedAt == b.FinishedAt
}

// sameConditions reports whether a richer source knows the given conditions, and no further condition that the poorer
// source, with a complete list, would have reported.
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
