package feedback

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// The feedback names of the answers to OriginRule. The names differ from the names of FinalizersRule, because a work may have
// both rules.
const (
	broughtName      = "brought"
	broughtOwnerName = "broughtOwner"
)

// OriginRule asks about an Application on its cluster before the first apply by its work: the earlier work that brought
// the Application, and the current owner. Both values come from one version of the Application.
func OriginRule() workv1.FeedbackRule {
	return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{
		{Name: broughtName, Path: annotationPath(apis.AnnotationWork)}, {Name: broughtOwnerName, Path: ownerPath},
	}}
}

// Origin returns the name of the work that brought an Application and released the Application, from the answer to
// OriginRule. The result is empty if no work brought the Application, if a work agent owns the Application now, or if
// the owner is unreadable.
func Origin(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) string {
	manifest := Manifest(status, id)
	if owner, known := OriginOwner(status, id); manifest == nil || !known || owner != "" {
		return ""
	}
	v, _ := answer(manifest.StatusFeedbacks.Values, broughtName)
	name, _ := v.text()
	return name
}

// OriginOwner returns the name of the AppliedManifestWork that owns an Application, from the answer to OriginRule;
// empty for none. known is true if the agent could read the owner.
func OriginOwner(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) (name string, known bool) {
	return ownerAs(broughtOwnerName, status, id)
}
