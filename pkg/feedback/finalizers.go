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

// droppedName is the feedback name for the mark of a change that removed finalizers.
const droppedName = "finalizersDropped"

// firstFinalizerName is the feedback name for the first finalizer of an Application.
const firstFinalizerName = "finalizer"

// ownerName is the feedback name for the owner of an Application.
const ownerName = "workOwner"

// ownerPath is the path of the owner's name in an Application.
const ownerPath = `.metadata.ownerReferences[?(@.kind=="AppliedManifestWork")].name`

// FinalizersRule asks for values of an Application before its removal. The values are the mark of the last change of the
// finalizers, and the finalizers that delete the deployed resources. Server-side apply keeps finalizers set by
// other clients. All values come from one version of the Application. Therefore the mark tells since
// when the finalizers are known.
//
// FinalizersRule also asks for the owner. A work agent (v1.2.0) removes only the objects of its AppliedManifestWork.
func FinalizersRule() workv1.FeedbackRule {
	paths := []workv1.JsonPath{{Name: droppedName, Path: annotationPath(apis.AnnotationFinalizersDropped)}}
	for _, f := range argocd.DestructiveFinalizers {
		paths = append(paths, workv1.JsonPath{Name: finalizerName(f), Path: fmt.Sprintf(`.metadata.finalizers[?(@==%q)]`, f)})
	}
	paths = append(paths, workv1.JsonPath{Name: ownerName, Path: ownerPath})
	return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: paths}
}

// finalizerName returns the feedback name of a finalizer.
func finalizerName(finalizer string) string {
	_, form, _ := strings.Cut(finalizer, "/")
	return strings.TrimSuffix("finalizerLeft-"+form, "-")
}

// RemainingFinalizers returns the remaining finalizers of an Application, from the answer to FinalizersRule. known is
// true if the answer is from after the change with this mark. Any value counts as a present finalizer, because only
// present finalizers have a value.
func RemainingFinalizers(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier, mark string) (left []string, known bool) {
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
		if _, there := answer(values, finalizerName(f)); there {
			left = append(left, f)
		}
	}
	return left, known
}

// Owner returns the name of the first AppliedManifestWork that owns an Application, from the answer to FinalizersRule; empty
// for none. known is true if the agent could read the owner.
func Owner(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) (name string, known bool) {
	return ownerAs(ownerName, status, id)
}

// ownerAs returns the owner with the feedback name as.
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

// answer returns the value with a feedback name. The bool is false if there is none.
func answer(values []workv1.FeedbackValue, name string) (value, bool) {
	i := slices.IndexFunc(values, func(v workv1.FeedbackValue) bool { return v.Name == name })
	if i < 0 {
		return value{}, false
	}
	return value(values[i].Value), true
}

// Unmapped returns whether the agent could not map the Application of id to a resource. The agent (v1.2.0) reports this
// for a cluster without the CRD, and for a failed request: the two cases are indistinguishable.
func Unmapped(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) bool {
	return unmapped(status, id) != nil
}

// unmapped returns the agent's report on an unmapped Application; nil for a mapped Application.
func unmapped(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) *workv1.ManifestCondition {
	id.Resource = ""
	if m := Manifest(status, id); m != nil && m.ResourceMeta.Kind == argocd.Kind {
		return m
	}
	return nil
}

// Cascades returns whether the first finalizer of an Application deletes the deployed resources. A work always asks for
// the first finalizer. With a different first finalizer, the later finalizers are unknown.
func Cascades(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) bool {
	manifest := Manifest(status, id)
	if manifest == nil {
		return false
	}
	v, _ := answer(manifest.StatusFeedbacks.Values, firstFinalizerName)
	first, _ := v.text()
	return slices.Contains(argocd.DestructiveFinalizers, first)
}
