package feedback

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// droppedName is the name by which the mark of a change that took finalizers off comes back.
const droppedName = "finalizersDropped"

// firstFinalizerName is the name by which the first finalizer of an Application comes back.
const firstFinalizerName = "finalizer"

// ownerName is the name by which the owner of an Application comes back.
const ownerName = "workOwner"

// ownerPath is where an Application has its owner's name.
const ownerPath = `.metadata.ownerReferences[?(@.kind=="AppliedManifestWork")].name`

// LeftRule asks, of an Application that is to go, for the mark of the change that gave it its last finalizers, and for the
// finalizers by which its end destroys what it deployed: others may have set them there, and server-side apply leaves them.
// Both are read from one version of the Application, so that the mark tells since when the finalizers are known.
//
// It asks for the owner as well. A work agent (v1.2.0) removes just what its AppliedManifestWork owns.
func LeftRule() workv1.FeedbackRule {
	paths := []workv1.JsonPath{{Name: droppedName, Path: annotationPath(apis.AnnotationFinalizersDropped)}}
	for _, f := range argocd.DestructiveFinalizers {
		paths = append(paths, workv1.JsonPath{Name: leftName(f), Path: fmt.Sprintf(`.metadata.finalizers[?(@==%q)]`, f)})
	}
	paths = append(paths, workv1.JsonPath{Name: ownerName, Path: ownerPath})
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
	if v, there := answer(values, droppedName); there {
		text, ok := v.text()
		known = ok && text == mark
	}
	for _, f := range argocd.DestructiveFinalizers {
		if _, there := answer(values, leftName(f)); there {
			left = append(left, f)
		}
	}
	return left, known
}

// Owner is the name of the first AppliedManifestWork that owns an Application, by the answer to LeftRule; empty for none.
// It tells whether the agent could read that.
func Owner(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) (name string, known bool) {
	return ownerAs(ownerName, status, id)
}

// ownerAs is the owner that comes back by that name.
func ownerAs(as string, status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) (name string, known bool) {
	manifest := Manifest(status, id)
	if manifest == nil {
		return "", false
	}
	c := meta.FindStatusCondition(manifest.Conditions, ConditionSynced)
	if c == nil || c.Status != metav1.ConditionTrue && strings.Contains(c.Message, as) {
		return "", false
	}
	if v, there := answer(manifest.StatusFeedbacks.Values, as); there {
		return v.text()
	}
	return "", true
}

// answer is the value that comes back by a name, and whether one does.
func answer(values []workv1.FeedbackValue, name string) (value, bool) {
	i := slices.IndexFunc(values, func(v workv1.FeedbackValue) bool { return v.Name == name })
	if i < 0 {
		return value{}, false
	}
	return value(values[i].Value), true
}

// Unmapped tells whether the agent could not tell which resource the Application is that id names. It (v1.2.0) says so
// where the cluster has no such CRD, and where it could not ask: the two cannot be told apart.
func Unmapped(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) bool {
	return unmapped(status, id) != nil
}

// unmapped is what the agent says of such an Application; nil where it could tell.
func unmapped(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) *workv1.ManifestCondition {
	id.Resource = ""
	if m := Manifest(status, id); m != nil && m.ResourceMeta.Kind == argocd.Kind {
		return m
	}
	return nil
}

// Cascades tells whether the first finalizer of an Application is one by which its end destroys what it deployed. A work asks
// for that finalizer at all times. Another finalizer that comes first says nothing of those after it.
func Cascades(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) bool {
	manifest := Manifest(status, id)
	if manifest == nil {
		return false
	}
	v, _ := answer(manifest.StatusFeedbacks.Values, firstFinalizerName)
	first, _ := v.text()
	return slices.Contains(argocd.DestructiveFinalizers, first)
}
