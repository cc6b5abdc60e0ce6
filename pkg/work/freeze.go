package work

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
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
		if held, ok = Replaced(w); !ok {
			return true
		}
	}
	return ok && (automated(held.Spec.Raw) || argocd.Hydrates(held.Spec.Raw))
}

// Freeze stops automated deployment and hydration on the cluster, and reports whether the work had to change. The
// rest of the work stays the same. The Application loses `syncPolicy.automated`, which also ends self-healing, but
// Argo CD still compares the Application. The `source` written so far by the hydrator replaces a `sourceHydrator`.
//
// Freeze returns the work itself in four cases: the work carries a request, the cluster's Argo CD runs nothing by
// itself, Towline may not change the cluster's Application, or the Application is unreadable.
func Freeze(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	mode := UpdateModeOf(w)
	if CarriesRequest(w) || !RunsByItself(w) || mode == ReadOnly || mode == CreateOnly || IsReadOnly(w) || Refused(w) != "" {
		return w, false
	}
	out := w.DeepCopy()
	for i := range out.Spec.Workload.Manifests {
		m := &out.Spec.Workload.Manifests[i]
		if readManifest(m.Raw) == nil {
			continue
		}
		raw, err := frozen(m.Raw)
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

// frozen returns the manifest of an Application without automated sync and hydration, and with AnnotationFrozen.
func frozen(raw []byte) ([]byte, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	spec, errSpec := object(fields["spec"])
	meta, errMeta := object(fields["metadata"])
	annotations, errAnnotations := object(meta["annotations"])
	if err := errors.Join(errSpec, errMeta, errAnnotations, unautomated(spec), dehydrated(spec)); err != nil {
		return nil, err
	}
	annotations[apis.AnnotationFrozen] = json.RawMessage(`"true"`)
	meta["annotations"] = jsonOf(annotations)
	fields["metadata"], fields["spec"] = jsonOf(meta), jsonOf(spec)
	return recounted(fields)
}

// unautomated removes the automated sync from a spec.
func unautomated(spec map[string]json.RawMessage) error {
	policy, err := object(spec["syncPolicy"])
	if err != nil || policy["automated"] == nil {
		return err
	}
	delete(policy, "automated")
	return put(spec, "syncPolicy", policy, len(policy) > 0)
}

// dehydrated replaces the hydrator in a spec with the source that Argo CD (2.14 to 3.5) uses for the comparison: the
// branch and the path of the hydrated manifests.
func dehydrated(spec map[string]json.RawMessage) error {
	hydrator, err := object(spec["sourceHydrator"])
	if err != nil || len(hydrator) == 0 {
		return err
	}
	dry, errDry := object(hydrator["drySource"])
	sync, errSync := object(hydrator["syncSource"])
	if err := errors.Join(errDry, errSync); err != nil {
		return err
	}
	source := map[string]json.RawMessage{}
	for to, from := range map[string]json.RawMessage{
		"repoURL": or(sync["repoURL"], dry["repoURL"]), "path": sync["path"], "targetRevision": sync["targetBranch"],
	} {
		if len(from) > 0 {
			source[to] = from
		}
	}
	delete(spec, "sourceHydrator")
	spec["source"] = jsonOf(source)
	return nil
}

// or returns a, or b if a is missing, empty or null.
func or(a, b json.RawMessage) json.RawMessage {
	if len(a) == 0 || string(a) == `""` || string(a) == "null" {
		return b
	}
	return a
}
