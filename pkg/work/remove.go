package work

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// Removable is the work changed so that its deletion takes the Application off the cluster, and what that deployed as
// these finalizers of Argo CD say: without any, it stays. It returns the work itself where that is so already, where it
// carries a request, and where what it carries cannot be read. The work is one that Took.
func Removable(w *workv1.ManifestWork, finalizers []string) (*workv1.ManifestWork, bool) {
	if CarriesRequest(w) {
		return w, false
	}
	held, ok := Carried(w)
	if !ok {
		return w, false
	}
	cascade := slices.DeleteFunc(slices.Clone(held.Finalizers), func(f string) bool { return !argocd.IsCascadeFinalizer(f) })
	if w.Spec.DeleteOption == nil && sameSet(cascade, finalizers) {
		return w, false
	}
	others := slices.DeleteFunc(slices.Clone(held.Finalizers), argocd.IsCascadeFinalizer)
	out := w.DeepCopy()
	if ClaimOf(w) == Asks && Outcome(w) == metav1.ConditionTrue {
		SetClaim(out, Takes) // it is Towline's
	}
	out.Spec.DeleteOption = nil
	for i := range out.Spec.Workload.Manifests {
		raw, err := withFinalizers(out.Spec.Workload.Manifests[i].Raw, append(others, finalizers...))
		if err != nil {
			return w, false
		}
		out.Spec.Workload.Manifests[i].Raw = raw
	}
	return out, true
}

// Took tells whether a work can have brought what its cluster has: one that asked for what was there and was refused, or
// was only to look, has not. One that cannot be applied for any other reason may have been before.
func Took(w *workv1.ManifestWork) bool {
	switch ClaimOf(w) {
	case Takes:
		return true
	case Asks:
		return Refused(w) == ""
	case Looks, Leaves:
	}
	return false
}

// CarriesRequest tells whether a work carries a request for the moment, and not its Application.
func CarriesRequest(w *workv1.ManifestWork) bool { return Sent(w).Last.State == relay.OnItsWay }

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// withFinalizers is a manifest with just these finalizers.
func withFinalizers(raw []byte, finalizers []string) ([]byte, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	var meta map[string]json.RawMessage
	if meta, err = object(fields["metadata"]); err != nil {
		return nil, err
	}
	if _, has := meta["finalizers"]; !has && len(finalizers) == 0 {
		return raw, nil
	}
	delete(meta, "finalizers")
	if len(finalizers) > 0 {
		if meta["finalizers"], err = marshal(finalizers); err != nil {
			return nil, err
		}
	}
	if fields["metadata"], err = marshal(meta); err != nil {
		return nil, err
	}
	return marshal(fields)
}
