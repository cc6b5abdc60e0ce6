package work

import (
	"encoding/json"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

// Removable is the work changed so that its deletion takes the Application off the cluster, and what that deployed as
// these finalizers of Argo CD say: where none of them destroys it, it stays, and the work asks what is Left. It returns
// the work itself where that is so already, where it carries a request, and where what it carries cannot be read. The
// work is one that Took.
func Removable(w *workv1.ManifestWork, finalizers []string) (*workv1.ManifestWork, bool) {
	if CarriesRequest(w) {
		return w, false
	}
	held, ok := Carried(w)
	if !ok {
		return w, false
	}
	stays := !argocd.Destroys(finalizers)
	cascade := slices.DeleteFunc(slices.Clone(held.Finalizers), func(f string) bool { return !argocd.IsCascadeFinalizer(f) })
	if w.Spec.DeleteOption == nil && sameSet(cascade, finalizers) && stays == TellsLeft(w) {
		return w, false
	}
	others := slices.DeleteFunc(slices.Clone(held.Finalizers), argocd.IsCascadeFinalizer)
	out := w.DeepCopy()
	if ClaimOf(w) == Asks && Outcome(w) == metav1.ConditionTrue {
		SetClaim(out, Takes) // it is Towline's
	}
	if len(out.Spec.ManifestConfigs) == 0 {
		out.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config(held, false)} // an older controller's
	}
	out.Spec.DeleteOption = nil
	if setFinalizers(out, append(others, finalizers...), askLeft(out, stays)) != nil {
		return w, false
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

// setFinalizers gives what a work carries just these finalizers, and the mark of that; empty for none.
func setFinalizers(w *workv1.ManifestWork, finalizers []string, mark string) error {
	for i := range w.Spec.Workload.Manifests {
		raw, err := withFinalizers(w.Spec.Workload.Manifests[i].Raw, finalizers, mark)
		if err != nil {
			return err
		}
		w.Spec.Workload.Manifests[i].Raw = raw
	}
	return nil
}

func withFinalizers(raw []byte, finalizers []string, mark string) ([]byte, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	meta, err := object(fields["metadata"])
	if err != nil {
		return nil, err
	}
	annotations, err := object(meta["annotations"])
	if err != nil {
		return nil, err
	}
	_, has := meta["finalizers"]
	_, marked := annotations[apis.AnnotationFinalizersDropped]
	if !has && !marked && len(finalizers) == 0 && mark == "" {
		return raw, nil
	}
	if err := errors.Join(
		put(annotations, apis.AnnotationFinalizersDropped, mark, mark != ""),
		put(meta, "annotations", annotations, len(annotations) > 0),
		put(meta, "finalizers", finalizers, len(finalizers) > 0),
		put(fields, "metadata", meta, true),
	); err != nil {
		return nil, err
	}
	return marshal(fields)
}

// put sets a field of a JSON object, or takes it out.
func put(fields map[string]json.RawMessage, key string, value any, there bool) error {
	delete(fields, key)
	if !there {
		return nil
	}
	raw, err := marshal(value)
	fields[key] = raw
	return err
}
