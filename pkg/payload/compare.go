package payload

import (
	"bytes"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// comparedFields are the fields of an Application's spec that decide about the comparison in Argo CD (2.14 and 3:
// status.sync.comparedTo).
var comparedFields = []string{"source", "sources", "sourceHydrator", "destination", "ignoreDifferences"}

// Behind reports whether the spec of there, an Application from a manifest, differs from the present spec of app. A
// newer operation would run on the cluster with the earlier spec.
func Behind(there, app *argocd.Application) bool {
	here := specThere(app)
	return here.err == nil && !Same(there.Spec.Raw, here.json)
}

// Respecified reports whether app now deploys different content than there, an Application from a manifest. The status
// reported by the cluster so far is then about the earlier content. The result is false for automated syncs: Argo CD
// syncs the Application after each change of the spec, and no RollingSync reads the status. The result is also false
// for a manifest that Towline has not rendered, and for an unreadable spec.
func Respecified(there, app *argocd.Application) bool {
	here := specThere(app)
	if here.err != nil || bytes.Equal(there.Spec.Raw, here.json) || there.Labels[apis.LabelPulled] == "" { // the common case
		return false
	}
	before, errBefore := object(there.Spec.Raw)
	after, errAfter := object(here.json)
	return errBefore == nil && errAfter == nil && !automated(here.json) && slices.ContainsFunc(comparedFields, func(field string) bool {
		x, y := before[field], after[field]
		return (len(x) == 0) != (len(y) == 0) || len(x) > 0 && !Same(x, y)
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
