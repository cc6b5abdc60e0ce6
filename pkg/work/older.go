package work

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// ByOlder tells whether a work is as an older pull controller (multicloud-integrations) made it, and Towline has not rendered it
// since: the Application that it carries lacks the mark of Towline's works.
func ByOlder(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && held.Annotations[apis.AnnotationWork] == ""
}

// IsExcludedFromBackup tells whether a work carries an Application that no backup of Velero's has: the console of Advanced Cluster
// Management labels those of ApplicationSets so.
func IsExcludedFromBackup(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && held.Labels[apis.LabelExcludedFromBackup] == "true"
}

// IsReadOnly tells whether the agent changes nothing by a work. Towline's own says so while it looks first, and an older
// controller's after its pull model was disabled.
func IsReadOnly(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs) > 0 && w.Spec.ManifestConfigs[0].UpdateStrategy != nil &&
		w.Spec.ManifestConfigs[0].UpdateStrategy.Type == workv1.UpdateStrategyTypeReadOnly
}

// revive lets the agent apply again what an older controller's work carries, where that was disabled.
func revive(w *workv1.ManifestWork) {
	if IsReadOnly(w) && ByOlder(w) {
		w.Spec.ManifestConfigs[0].UpdateStrategy = Strategy()
		noteMode(w, ForceApply)
	}
}

// Disabled tells whether an older controller has set a work that Towline wrote to ReadOnly. It does so at each start, with every
// pulled Application's work, while its own pull model is disabled (multicloud-integrations as of August 2026).
func Disabled(w *workv1.ManifestWork) bool {
	if !IsReadOnly(w) {
		return false
	}
	noted, known := notedMode(w)
	return known && noted != ReadOnly
}

// Enabled is a work that was Disabled as it was before: it carries the same, and asks no more of its cluster.
func Enabled(w *workv1.ManifestWork) *workv1.ManifestWork {
	out := w.DeepCopy()
	config := &out.Spec.ManifestConfigs[0]
	config.UpdateStrategy = strategyOf(w)
	SetUpdateMode(out, UpdateModeOf(w))
	return out
}

// beside are what a work holds beside its Application: older controllers (multicloud-integrations 2.15 and later) put its
// namespace and its AppProject there.
func beside(w *workv1.ManifestWork) (out []workv1.Manifest) {
	if len(w.Spec.Workload.Manifests) < 2 {
		return nil // as nearly always
	}
	for _, m := range w.Spec.Workload.Manifests {
		if _, other := otherThanApplication(m.Raw); other {
			out = append(out, m)
		}
	}
	return out
}

// otherThanApplication tells what a manifest is, and whether that is known to be no Application.
func otherThanApplication(raw []byte) (metav1.PartialObjectMetadata, bool) {
	var held metav1.PartialObjectMetadata
	if json.Unmarshal(raw, &held) != nil || held.Kind == "" {
		return held, false
	}
	return held, held.Kind != argocd.Kind || held.GroupVersionKind().Group != argocd.GroupVersion.Group
}

// identifiers are the resources that manifests are.
func identifiers(manifests []workv1.Manifest) []workv1.ResourceIdentifier {
	out := make([]workv1.ResourceIdentifier, len(manifests))
	for i, m := range manifests {
		held, _ := otherThanApplication(m.Raw)
		resource, _ := meta.UnsafeGuessKindToResource(held.GroupVersionKind())
		out[i] = workv1.ResourceIdentifier{
			Group: resource.Group, Resource: resource.Resource, Namespace: held.Namespace, Name: held.Name,
		}
	}
	return out
}

// keeping is the option by which the end of a work leaves what it holds beside its Application; nil where it holds nothing.
func keeping(w *workv1.ManifestWork) *workv1.DeleteOption {
	others := identifiers(beside(w))
	if len(others) == 0 {
		return nil
	}
	rules := make([]workv1.OrphaningRule, len(others))
	for i, id := range others {
		rules[i] = workv1.OrphaningRule(id)
	}
	return &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: rules},
	}
}

// keeps tells whether the option of a work leaves a resource on the cluster, by the rules of the agent (v1.2.0,
// helper.OwnedByTheWork).
func keeps(w *workv1.ManifestWork, id workv1.ResourceIdentifier) bool {
	o := w.Spec.DeleteOption
	switch {
	case o == nil:
		return false
	case o.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan:
		return true
	case o.PropagationPolicy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan || o.SelectivelyOrphan == nil:
		return false
	}
	return slices.Contains(o.SelectivelyOrphan.OrphaningRules,
		workv1.OrphaningRule(id))
}

// Bare tells whether nothing but its Application goes from the cluster with a work, or with what is taken out of it. The agent
// (v1.2.0) deletes what a work does not hold any more, unless it does not own that: it gives up what is to stay when it
// applies that, so only a work that it has applied as it is proves anything.
func Bare(w *workv1.ManifestWork) bool {
	for _, id := range identifiers(beside(w)) {
		if !keeps(w, id) || outcome(w) != metav1.ConditionTrue && !appliedNow(w, id) {
			return false
		}
	}
	return true
}

// appliedNow tells whether the agent has applied one manifest of a work as it is now, whatever became of the others.
func appliedNow(w *workv1.ManifestWork, id workv1.ResourceIdentifier) bool {
	m := feedback.Manifest(&w.Status, id)
	if m == nil {
		return false
	}
	c := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == w.Generation
}

// Baring is a work changed so that nothing but its Application goes with it, and whether it had to be changed. It is Bare once
// the agent has applied that.
func Baring(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !slices.ContainsFunc(identifiers(beside(w)), func(id workv1.ResourceIdentifier) bool { return !keeps(w, id) }) {
		return w, false
	}
	out := w.DeepCopy()
	out.Spec.DeleteOption = keeping(w)
	return out, true
}

// TakeOver lets a work that Render made take the place of another one: what that holds beside its Application stays in it until
// it is Bare, and is then taken out. Its AppProjects are noted, which its agent applied without a word on how.
func TakeOver(desired, w *workv1.ManifestWork) {
	others := beside(w)
	if len(others) == 0 {
		return
	}
	if noted := BroughtProjects(w); len(noted) > 0 {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, apis.AnnotationBroughtProjects, strings.Join(noted, ","))
	}
	if Bare(w) || len(beside(desired)) > 0 {
		return
	}
	desired.Spec.Workload.Manifests = append(desired.Spec.Workload.Manifests, others...)
	if desired.Spec.DeleteOption == nil {
		desired.Spec.DeleteOption = keeping(desired)
	}
}

// BroughtProjects are the AppProjects, as "<namespace>/<name>" and sorted, that an older controller sent with a work. A cluster
// may change what its works say: good for what becomes of its own AppProjects, and for nothing else.
func BroughtProjects(w *workv1.ManifestWork) []string {
	var out []string
	if noted := w.Annotations[apis.AnnotationBroughtProjects]; noted != "" {
		out = strings.Split(noted, ",")
	}
	for _, id := range identifiers(beside(w)) {
		if (schema.GroupResource{Group: id.Group, Resource: id.Resource}) == appProjects {
			out = append(out, types.NamespacedName{Namespace: id.Namespace, Name: id.Name}.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var appProjects = schema.GroupResource{Group: argocd.GroupVersion.Group, Resource: "appprojects"}

// sameDeletion tells whether the end of a work takes its Application, and nothing else.
func sameDeletion(w *workv1.ManifestWork) bool {
	return equality.Semantic.DeepEqual(w.Spec.DeleteOption, keeping(w))
}
