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

// ByOlder reports whether an older pull controller (multicloud-integrations) wrote the work, and Towline has not
// rendered the work since. The Application in such a work lacks the annotation of Towline's works.
func ByOlder(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && held.Annotations[apis.AnnotationWork] == ""
}

// IsExcludedFromBackup reports whether Velero excludes the Application in a work from backups. The console of
// Advanced Cluster Management sets the label on Applications of ApplicationSets.
func IsExcludedFromBackup(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && held.Labels[apis.LabelExcludedFromBackup] == "true"
}

// IsReadOnly reports whether the agent changes nothing by a work. Towline's works are read-only while Towline asks
// whether the Application exists on the cluster. The works of an older controller are read-only after an administrator
// has disabled the pull model of this controller.
func IsReadOnly(w *workv1.ManifestWork) bool {
	return strategyType(w) == workv1.UpdateStrategyTypeReadOnly
}

// setRules gives a work of an older controller the configuration and the strategy of Towline's works. The strategies of
// older controllers do not change finalizers. held is the Application in the work.
func setRules(w *workv1.ManifestWork, held *argocd.Application) {
	if len(w.Spec.ManifestConfigs) == 0 {
		w.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config(held, Requests{})}
	}
	if t := strategyType(w); t == "" || t == workv1.UpdateStrategyTypeUpdate {
		w.Spec.ManifestConfigs[0].UpdateStrategy = Strategy()
	}
}

// Disabled reports whether an older controller has set a work, of Towline or of an older controller, to ReadOnly. With
// its own pull model disabled, the older controller does so at each start, with the work of every pulled Application
// (multicloud-integrations as of August 2026).
func Disabled(w *workv1.ManifestWork) bool {
	if !IsReadOnly(w) {
		return false
	}
	noted, known := notedMode(w)
	return known && noted != ReadOnly
}

// Enabled returns a Disabled work in its earlier form: with the same content and the earlier mode.
func Enabled(w *workv1.ManifestWork) *workv1.ManifestWork {
	out := w.DeepCopy()
	config := &out.Spec.ManifestConfigs[0]
	config.UpdateStrategy = strategyOf(w)
	SetUpdateMode(out, UpdateModeOf(w))
	return out
}

// Redirected returns the destination of the Application in a work, if the work is not from this version of Towline and app
// now has another destination.
func Redirected(w *workv1.ManifestWork, app *argocd.Application) (was argocd.Destination, redirected bool) {
	held, ok := Carried(w)
	if !ok || !ByOlder(w) && !ignoredDestination(held) {
		return argocd.Destination{}, false
	}
	was = held.DestinationSaid()
	return was, was != argocd.Destination{} && was.Canonical() != app.DestinationThere().Canonical()
}

// ignoredDestination reports whether the controller that sent the Application ignored the annotations for the
// destination. Then the Application on the cluster still has the annotations.
func ignoredDestination(held *argocd.Application) bool {
	_, name := held.Annotations[apis.AnnotationDestinationName]
	_, server := held.Annotations[apis.AnnotationDestinationServer]
	return name || server
}

// sideManifests returns the side manifests of a work: all manifests except the Application. Older controllers
// (multicloud-integrations 2.15 and later) added the namespace and the AppProject.
func sideManifests(w *workv1.ManifestWork) (out []workv1.Manifest) {
	if len(w.Spec.Workload.Manifests) < 2 {
		return nil // the common case
	}
	for _, m := range w.Spec.Workload.Manifests {
		if _, other := otherThanApplication(m.Raw); other {
			out = append(out, m)
		}
	}
	return out
}

// otherThanApplication returns the metadata of a manifest, and whether the manifest is certainly not an Application.
func otherThanApplication(raw []byte) (metav1.PartialObjectMetadata, bool) {
	var held metav1.PartialObjectMetadata
	if json.Unmarshal(raw, &held) != nil || held.Kind == "" {
		return held, false
	}
	return held, held.Kind != argocd.Kind || held.GroupVersionKind().Group != argocd.GroupVersion.Group
}

// identifiers returns the resources of manifests.
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

// keeping returns the delete option that keeps the side manifests on the cluster after the deletion of the work.
// Without side manifests, keeping returns nil.
func keeping(w *workv1.ManifestWork) *workv1.DeleteOption {
	others := identifiers(sideManifests(w))
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

// keeps reports whether the delete option of a work keeps a resource on the cluster, by the rules of the agent
// (v1.2.0, helper.OwnedByTheWork).
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

// SideManifestsKept reports whether only the Application leaves the cluster with a work, and no side manifest. The agent (v1.2.0)
// deletes resources removed from a work, if the agent owns them. The agent gives up the ownership of kept resources
// during an apply. Only an apply of the current generation is therefore a proof.
func (r *Report) SideManifestsKept() bool {
	for _, id := range identifiers(sideManifests(r.Work)) {
		if !keeps(r.Work, id) || conditionNow(r.Work, workv1.WorkApplied) != metav1.ConditionTrue && !appliedNow(r.Work, id) {
			return false
		}
	}
	return true
}

// appliedNow reports whether the agent has applied a manifest of the current generation. The other manifests may have
// failed.
func appliedNow(w *workv1.ManifestWork, id workv1.ResourceIdentifier) bool {
	m := feedback.Manifest(&w.Status, id)
	if m == nil {
		return false
	}
	c := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == w.Generation
}

// KeepSideManifests changes a work so that only the Application leaves the cluster with the work, and reports whether the work
// had to change. SideManifestsKept reports true after the agent has applied the change.
func KeepSideManifests(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !slices.ContainsFunc(identifiers(sideManifests(w)), func(id workv1.ResourceIdentifier) bool { return !keeps(w, id) }) {
		return w, false
	}
	out := w.DeepCopy()
	out.Spec.DeleteOption = keeping(w)
	return out, true
}

// TakeOver prepares a rendered work to replace another work w. The side manifests of w stay in the work until
// SideManifestsKept is true for w, and are then removed. The agent applied the AppProjects of w without a ManifestConfig. TakeOver notes their
// names in AnnotationBroughtProjects, because the hub's AppProjects may replace these AppProjects on the cluster.
func TakeOver(desired, w *workv1.ManifestWork) {
	others := sideManifests(w)
	if len(others) == 0 {
		return
	}
	if noted := BroughtProjects(w); len(noted) > 0 {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, apis.AnnotationBroughtProjects, strings.Join(noted, ","))
	}
	if ReportOf(w).SideManifestsKept() || len(sideManifests(desired)) > 0 {
		return
	}
	desired.Spec.Workload.Manifests = append(desired.Spec.Workload.Manifests, others...)
	if desired.Spec.DeleteOption == nil {
		desired.Spec.DeleteOption = keeping(desired)
	}
}

// BroughtProjects returns the AppProjects that an older controller sent with a work, sorted, as "<namespace>/<name>".
// A cluster can change its works. Use the result only for decisions about the cluster's own AppProjects.
func BroughtProjects(w *workv1.ManifestWork) []string {
	var out []string
	if noted := w.Annotations[apis.AnnotationBroughtProjects]; noted != "" {
		out = strings.Split(noted, ",")
	}
	for _, id := range identifiers(sideManifests(w)) {
		if (schema.GroupResource{Group: id.Group, Resource: id.Resource}) == appProjects {
			out = append(out, types.NamespacedName{Namespace: id.Namespace, Name: id.Name}.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var appProjects = schema.GroupResource{Group: argocd.GroupVersion.Group, Resource: "appprojects"}

// sameDeletion reports whether the deletion of a work removes its Application, and no side manifest.
func sameDeletion(w *workv1.ManifestWork) bool {
	return equality.Semantic.DeepEqual(w.Spec.DeleteOption, keeping(w))
}
