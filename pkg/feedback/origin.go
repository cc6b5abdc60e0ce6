package feedback

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// The names by which the answers to OriginRule come back. Those of LeftRule are others: a work may ask both.
const (
	broughtName      = "brought"
	broughtOwnerName = "broughtOwner"
)

// OriginRule asks, of an Application that is on its cluster before its work has applied it, which work has brought it there
// before, and for the work agent that owns it now. Both are read from one version of the Application.
func OriginRule() workv1.FeedbackRule {
	return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{
		{Name: broughtName, Path: annotationPath(apis.AnnotationWork)}, {Name: broughtOwnerName, Path: ownerPath},
	}}
}

// Origin is the name of the work that has brought an Application and released it, by the answer to OriginRule. It is empty
// for one that no work has brought, that a work agent owns now, or of which that could not be read.
func Origin(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) string {
	manifest := Manifest(status, id)
	if owner, known := OriginOwner(status, id); manifest == nil || !known || owner != "" {
		return ""
	}
	v, _ := answer(manifest.StatusFeedbacks.Values, broughtName)
	name, _ := v.text()
	return name
}

// OriginOwner is the name of the AppliedManifestWork that owns an Application, by the answer to OriginRule; empty for none. It
// tells whether the agent could read that.
func OriginOwner(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) (name string, known bool) {
	return ownerAs(broughtOwnerName, status, id)
}
