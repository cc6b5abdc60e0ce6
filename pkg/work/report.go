package work

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// Report is the agent's report about a work. Decisions and changes of works read the status of a work only through a
// Report. ReportOf finds the conditions once, and Observation parses the feedback once.
type Report struct {
	// Work is the work.
	Work *workv1.ManifestWork

	// outcome and available are the work's conditions Applied and Available for the current generation; see conditionNow.
	outcome, available metav1.ConditionStatus

	// mode is the update mode of the work.
	mode UpdateMode

	// id is the Application of the work, and manifest the report about the Application; nil for none. observation is the
	// parsed feedback.
	id          workv1.ResourceIdentifier
	manifest    *workv1.ManifestCondition
	observation *feedback.Observation
}

// ReportOf returns the agent's report about a work. The report about a nil work is empty.
func ReportOf(w *workv1.ManifestWork) *Report {
	if w == nil {
		w = &workv1.ManifestWork{}
	}
	r := &Report{Work: w, mode: UpdateModeOf(w), available: conditionNow(w, workv1.WorkAvailable), id: Resource(w)}
	r.manifest = feedback.Manifest(&w.Status, r.id)
	if !Disabled(w) {
		r.outcome = conditionNow(w, workv1.WorkApplied)
	}
	return r
}

// Outcome returns the status of the work agent's condition Applied for the current generation. Empty: the agent has
// not reported yet, or the work is Disabled. The agent does not apply a Disabled work.
func Outcome(w *workv1.ManifestWork) metav1.ConditionStatus { return ReportOf(w).Outcome() }

// Outcome returns Outcome of the work.
func (r *Report) Outcome() metav1.ConditionStatus { return r.outcome }

// Applied reports whether the agent has applied the current generation. A read-only work is never applied.
func (r *Report) Applied() bool { return r.outcome == metav1.ConditionTrue && !IsReadOnly(r.Work) }

// Told reports whether the agent has reported on any generation of the work.
func (r *Report) Told() bool { return len(r.Work.Status.Conditions) > 0 }

// Reported reports whether the agent has read all resources of the work, and answered the feedback rules of the
// current generation. The agent (v1.2.0) applies and reads in separate steps, in any order.
func (r *Report) Reported() bool { return r.available == metav1.ConditionTrue }

// Observation returns the cluster's report about the Application.
func (r *Report) Observation() *feedback.Observation {
	if r.observation == nil {
		parsed := feedback.Parse(&r.Work.Status, r.id)
		r.observation = &parsed
	}
	return r.observation
}

// Condition returns the agent's condition of the Application, for any generation of the work; nil without a report.
func (r *Report) Condition(conditionType string) *metav1.Condition {
	return feedback.WorkCondition(&r.Work.Status, r.id, conditionType)
}

// Found returns whether the agent has found the Application of a work. Empty: no report yet. Unknown: the agent could
// not read the Application. After False, the other feedback is older, because the agent (v1.2.0) keeps the last feedback.
func (r *Report) Found() metav1.ConditionStatus {
	if c := r.Condition(workv1.WorkAvailable); c != nil {
		return c.Status
	}
	return ""
}

// foundNow reports whether the agent has looked for the Application for the current generation, with the given result.
func (r *Report) foundNow(result metav1.ConditionStatus) bool {
	if r.available != result || r.manifest == nil {
		return false // the manifest's own condition has no generation, and the work's condition may be about an earlier place
	}
	c := meta.FindStatusCondition(r.manifest.Conditions, workv1.ManifestAvailable)
	return c != nil && c.Status == result
}

// conditionNow returns the status of a condition for the current generation of the work. Empty: the agent has not
// reported yet.
func conditionNow(w *workv1.ManifestWork, conditionType string) metav1.ConditionStatus {
	c := meta.FindStatusCondition(w.Status.Conditions, conditionType)
	if c == nil || c.ObservedGeneration != w.Generation {
		return ""
	}
	return c.Status
}

// Outdated reports whether the agent could not apply a request, because the cluster's Application now has another
// version than the request expects.
func (r *Report) Outdated() bool {
	c := r.Condition(workv1.WorkApplied)
	return c != nil && r.outcome == metav1.ConditionFalse && overtaken(c.Message)
}

// Retried reports whether the agent could not apply a request for the same reason as in Outdated, in the current or in
// an earlier generation of the work. Towline then asks again with the current version, and no user has to act. In a
// work without a request, the same message is a problem, because the content of the work does not depend on a version.
func Retried(w *workv1.ManifestWork, app *argocd.Application) bool {
	if !CarriesRequest(w) && Outcome(w) == metav1.ConditionFalse {
		return false
	}
	c := feedback.WorkCondition(&w.Status, Identifier(app), workv1.WorkApplied)
	return c != nil && c.Status == metav1.ConditionFalse && overtaken(c.Message)
}

// outdated and conflicting are messages of an API server. outdated (Kubernetes 1.34,
// apiserver/pkg/registry/generic/registry) refuses a write with an old resourceVersion. conflicting
// (apimachinery/pkg/util/managedfields) precedes the conflicting fields of a server-side apply without force.
const (
	outdated    = "the object has been modified"
	conflicting = "Apply failed with "
)

// overtaken reports whether a message refuses a request because the cluster's Application has changed since the
// request was made. A request through Maestro has no resourceVersion, but expects a state of the Application's
// operations.
func overtaken(message string) bool {
	_, fields, _ := strings.Cut(message, conflicting)
	return strings.Contains(message, outdated) || strings.Contains(fields, ".operation") // also matches .status.operationState
}

// KeptTargets returns the namespaces and names, on the cluster, that a work keeps from other Applications. A work keeps
// its present targets, and former targets until the agent reports otherwise. The result may have duplicates.
func KeptTargets(w *workv1.ManifestWork) []types.NamespacedName {
	out := Targets(w)
	for i := range w.Status.ResourceStatus.Manifests {
		m := &w.Status.ResourceStatus.Manifests[i].ResourceMeta
		if m.Group == argocd.GroupVersion.Group && m.Resource == argocd.Resource {
			out = append(out, types.NamespacedName{Namespace: m.Namespace, Name: m.Name})
		}
	}
	return out
}

// Frees reports whether a work keeps a target before a change and no longer after the change.
func Frees(before, after *workv1.ManifestWork) bool {
	if before.Generation == after.Generation && sameReported(before, after) { // most reports: no manifest has to be parsed
		return false
	}
	kept := KeptTargets(after)
	return slices.ContainsFunc(KeptTargets(before), func(t types.NamespacedName) bool { return !slices.Contains(kept, t) })
}

// sameReported reports whether two versions of a work report on the same manifests.
func sameReported(a, b *workv1.ManifestWork) bool {
	return slices.EqualFunc(a.Status.ResourceStatus.Manifests, b.Status.ResourceStatus.Manifests,
		func(x, y workv1.ManifestCondition) bool { return x.ResourceMeta == y.ResourceMeta })
}
