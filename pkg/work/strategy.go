package work

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Strategy returns the update strategy for the Application of a work. The agent applies the work at each check
// (v1.2.0: every four to six minutes), and at once after a change of a label of the work. Each apply reverts edits of
// the work's fields on the cluster, and restores a removed finalizer. An apply without a difference is no write.
// Fields not in the work belong to the cluster: the operation, a refresh, and parts of the spec that the hub leaves
// out.
func Strategy() *workv1.UpdateStrategy {
	return &workv1.UpdateStrategy{
		Type:            workv1.UpdateStrategyTypeServerSideApply,
		ServerSideApply: &workv1.ServerSideApplyConfig{Force: true, FieldManager: workv1.DefaultFieldManager},
	}
}

// onceFields are the fields that the cluster's Argo CD removes after it has handled a request.
var onceFields = []workv1.IgnoreField{{
	Condition: workv1.IgnoreFieldsConditionOnSpokeChange,
	JSONPaths: []string{".operation", `.metadata.annotations['argocd\.argoproj\.io/refresh']`},
}}

// once makes the agent apply a manifest once for each change of its text, so that a finished request is not sent
// again. The agent (v1.2.0) applies nothing while the cluster's Application has the digest of the text, as printed by
// Go. So the agent reverts no edit meanwhile.
func once(s *workv1.UpdateStrategy) *workv1.UpdateStrategy {
	s.ServerSideApply.IgnoreFields = onceFields
	return s
}

// configOf returns how the work agent applies the Application of a work and what status the agent reports: the first
// configuration in the work. The first older controllers wrote works without a configuration, and a cluster can change
// its works. Such a work has the agent's default for the Application in the work. Callers must not change the result.
func configOf(w *workv1.ManifestWork) *workv1.ManifestConfigOption {
	if len(w.Spec.ManifestConfigs) > 0 {
		return &w.Spec.ManifestConfigs[0]
	}
	held, ok := Carried(w)
	if !ok {
		return &workv1.ManifestConfigOption{}
	}
	return &workv1.ManifestConfigOption{ResourceIdentifier: workv1.ResourceIdentifier{
		Group: argocd.GroupVersion.Group, Resource: argocd.Resource, Namespace: held.Namespace, Name: held.Name,
	}}
}

// Resource returns the Application of a work, as a resource on the cluster. The zero value: the work names no
// Application.
func Resource(w *workv1.ManifestWork) workv1.ResourceIdentifier {
	return configOf(w).ResourceIdentifier
}

// strategyType returns the type of a work's update strategy; empty for the agent's default.
func strategyType(w *workv1.ManifestWork) workv1.UpdateStrategyType {
	if s := configOf(w).UpdateStrategy; s != nil {
		return s.Type
	}
	return ""
}

// strategyFor returns the strategy of a work from Render.
func strategyFor(requests Requests) *workv1.UpdateStrategy {
	if requests.Refresh.Kind != "" {
		return once(Strategy())
	}
	return Strategy()
}

// strategyOf returns the strategy for the content of an existing work.
func strategyOf(w *workv1.ManifestWork) *workv1.UpdateStrategy {
	out := Strategy()
	out.ServerSideApply.FieldManager = manager(w)
	held, whole := Carried(w)
	if !whole || held.Annotations[apis.AnnotationRefresh] != "" {
		return once(out)
	}
	return out
}
