package work

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/payload"
)

// Frozen tells whether a work carries its Application without automated sync and hydration, because the hub stopped both.
func Frozen(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	return ok && held.Annotations[apis.AnnotationFrozen] != ""
}

// RunsByItself reports whether the Argo CD of the cluster deploys or hydrates new commits without a request. For a work
// with a request, the replaced Application counts. If the work does not store the replaced Application, the result is
// true: an earlier Towline sent the request, or the Application is too large.
func RunsByItself(w *workv1.ManifestWork) bool {
	held, ok := Carried(w)
	if CarriesRequest(w) {
		held, _ = Replaced(w)
		return held == nil || payload.RunsByItself(held)
	}
	return ok && payload.RunsByItself(held)
}

// Freeze stops automated deployment and hydration on the cluster, and reports whether the work had to change. The
// rest of the work stays the same. The Application loses `syncPolicy.automated`, which also ends self-healing, but
// Argo CD still compares the Application. The `source` written so far by the hydrator replaces a `sourceHydrator`.
//
// Freeze returns the work itself in four cases: the work carries a request, the cluster's Argo CD runs nothing by
// itself, Towline may not change the cluster's Application, or the Application is unreadable.
func Freeze(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	mode := UpdateModeOf(w)
	if CarriesRequest(w) || !RunsByItself(w) || mode == ReadOnly || mode == CreateOnly || IsReadOnly(w) || ReportOf(w).Conflicts() != "" {
		return w, false
	}
	out := w.DeepCopy()
	for i := range out.Spec.Workload.Manifests {
		m := &out.Spec.Workload.Manifests[i]
		if payload.Read(m.Raw) == nil {
			continue
		}
		raw, err := payload.Freeze(m.Raw)
		if err != nil {
			return w, false
		}
		m.Raw = raw
	}
	if mode == Apply && Outcome(w) == metav1.ConditionTrue { // the Application is Towline's: a conflict must not prevent the freeze
		SetUpdateMode(out, ForceApply)
	}
	return out, true
}
