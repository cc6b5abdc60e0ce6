package work

import (
	"bytes"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// comparedFields are the fields of an Application's spec that decide what Argo CD compares (2.14 and 3: status.sync.comparedTo).
var comparedFields = []string{"source", "sources", "sourceHydrator", "destination", "ignoreDifferences"}

// Behind tells whether a work carries an Application with another spec than app has now. An operation that was asked for since
// would run there with the spec of before.
func Behind(w *workv1.ManifestWork, app *argocd.Application) bool {
	there, ok := Carried(w)
	here := specThere(app)
	return ok && here.err == nil && !sameJSON(there.Spec.Raw, here.json)
}

// Respecified tells whether what an Application deploys is another thing than what its work has brought, so that the status which
// its cluster has reported so far is that of something else. It is not for an Application whose syncs are automated: that one
// follows its spec by itself, and no RollingSync decides by its status. A work that an older controller wrote, and a spec that
// cannot be read, are not compared, and a work that carries a request does not tell.
func Respecified(w *workv1.ManifestWork, app *argocd.Application) bool {
	here := specThere(app)
	if here.err != nil {
		return false
	}
	there, ok := Carried(w)
	if !ok || bytes.Equal(there.Spec.Raw, here.json) || there.Labels[apis.LabelPulled] == "" { // as nearly always
		return false
	}
	before, errBefore := object(there.Spec.Raw)
	after, errAfter := object(here.json)
	return errBefore == nil && errAfter == nil && !automated(here.json) && slices.ContainsFunc(comparedFields, func(field string) bool {
		x, y := before[field], after[field]
		return (len(x) == 0) != (len(y) == 0) || len(x) > 0 && !sameJSON(x, y)
	})
}

// automated tells whether a spec, as it is on its cluster, has its syncs automated; so does one that cannot be read.
func automated(spec []byte) bool {
	fields, err := object(spec)
	if err != nil {
		return true
	}
	policy, err := object(fields["syncPolicy"])
	_, is := policy["automated"]
	return err != nil || is
}
