package feedback

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// droppedName is the name by which the mark of a change that took finalizers off comes back.
const droppedName = "finalizersDropped"

// LeftRule asks, of an Application that has lost its finalizers, for the mark of that and for the finalizers by which its
// end would destroy what it deployed all the same: others have set them there, and server-side apply leaves them. Both are
// read from one version of the Application, so that the mark tells since when the finalizers are known.
func LeftRule() workv1.FeedbackRule {
	paths := []workv1.JsonPath{{Name: droppedName, Path: annotationPath(apis.AnnotationFinalizersDropped)}}
	for _, f := range argocd.DestructiveFinalizers {
		paths = append(paths, workv1.JsonPath{Name: leftName(f), Path: fmt.Sprintf(`.metadata.finalizers[?(@==%q)]`, f)})
	}
	return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: paths}
}

// leftName is the name by which a finalizer comes back.
func leftName(finalizer string) string {
	_, form, _ := strings.Cut(finalizer, "/")
	return strings.TrimSuffix("finalizerLeft-"+form, "-")
}

// Left are the finalizers that an Application still has, by the answer to LeftRule, and whether that has been answered
// since the change with this mark. Whatever comes back for a finalizer counts: only one that is there does.
func Left(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier, mark string) (left []string, known bool) {
	manifest := Manifest(status, id)
	if manifest == nil {
		return nil, false
	}
	values := manifest.StatusFeedbacks.Values
	known = slices.ContainsFunc(values, func(v workv1.FeedbackValue) bool {
		text, ok := value(v.Value).text()
		return v.Name == droppedName && ok && text == mark
	})
	for _, f := range argocd.DestructiveFinalizers {
		if slices.ContainsFunc(values, func(v workv1.FeedbackValue) bool { return v.Name == leftName(f) }) {
			left = append(left, f)
		}
	}
	return left, known
}
