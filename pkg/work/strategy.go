package work

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Strategy is how a work has its Application applied: by each look of the agent, which (v1.2.0) looks every four to six
// minutes, and at once when a label of the work changes. So an edit on the cluster of a field that the work sets is undone, and a
// finalizer that somebody removed there comes back. An apply that changes nothing is no write. Fields that the work does not set stay
// the cluster's: the operation, a refresh, and the parts of the spec that the hub leaves out.
func Strategy() *workv1.UpdateStrategy {
	return &workv1.UpdateStrategy{
		Type:            workv1.UpdateStrategyTypeServerSideApply,
		ServerSideApply: &workv1.ServerSideApplyConfig{Force: true, FieldManager: workv1.DefaultFieldManager},
	}
}

// onceFields are the fields that the cluster's Argo CD takes off when it has dealt with them.
var onceFields = []workv1.IgnoreField{{
	Condition: workv1.IgnoreFieldsConditionOnSpokeChange,
	JSONPaths: []string{".operation", `.metadata.annotations['argocd\.argoproj\.io/refresh']`},
}}

// once is a strategy with which the agent applies a manifest once for each change of its text: a request that the cluster's
// Argo CD has dealt with is not made again. The agent (v1.2.0) applies nothing while the digest of the text, as Go prints it,
// is the one that the cluster's Application has. So it undoes no edit meanwhile.
func once(s *workv1.UpdateStrategy) *workv1.UpdateStrategy {
	s.ServerSideApply.IgnoreFields = onceFields
	return s
}

// strategyFor is the strategy of a work that Render makes.
func strategyFor(requests Requests) *workv1.UpdateStrategy {
	if requests.Refresh.Kind != "" {
		return once(Strategy())
	}
	return Strategy()
}

// strategyOf is the strategy of what an existing work carries.
func strategyOf(w *workv1.ManifestWork) *workv1.UpdateStrategy {
	out := Strategy()
	out.ServerSideApply.FieldManager = manager(w)
	held, whole := Carried(w)
	if !whole || held.Annotations[apis.AnnotationRefresh] != "" {
		return once(out)
	}
	return out
}
