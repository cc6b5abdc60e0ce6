package work

import (
	"bytes"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// comparedFields are the fields of an Application's spec that decide about the comparison in Argo CD (2.14 and 3:
// status.sync.comparedTo).
var comparedFields = []string{"source", "sources", "sourceHydrator", "destination", "ignoreDifferences"}

// Behind reports whether the spec of the Application in a work differs from the present spec of app. A newer
// operation would run on the cluster with the earlier spec.
func Behind(w *workv1.ManifestWork, app *argocd.Application) bool {
	there, ok := Carried(w)
	here := specThere(app)
	return ok && here.err == nil && !sameJSON(there.Spec.Raw, here.json)
}

// Respecified reports whether an Application now deploys different content than the Application in its work. The
// status reported by the cluster so far is then about the earlier content. The result is false for automated syncs:
// Argo CD syncs the Application after each change of the spec, and no RollingSync reads the status. The result is also false for
// a work that Towline has not rendered, for an unreadable spec, and for a work with a request.
func Respecified(w *workv1.ManifestWork, app *argocd.Application) bool {
	here := specThere(app)
	if here.err != nil {
		return false
	}
	there, ok := Carried(w)
	if !ok || bytes.Equal(there.Spec.Raw, here.json) || there.Labels[apis.LabelPulled] == "" { // the common case
		return false
	}
	before, errBefore := object(there.Spec.Raw)
	after, errAfter := object(here.json)
	return errBefore == nil && errAfter == nil && !automated(here.json) && slices.ContainsFunc(comparedFields, func(field string) bool {
		x, y := before[field], after[field]
		return (len(x) == 0) != (len(y) == 0) || len(x) > 0 && !sameJSON(x, y)
	})
}

// automated reports whether a spec, in the form for the cluster, has automated syncs. The result is true for an
// unreadable spec.
func automated(spec []byte) bool {
	fields, err := object(spec)
	if err != nil {
		return true
	}
	policy, err := object(fields["syncPolicy"])
	_, is := policy["automated"]
	return err != nil || is
}
