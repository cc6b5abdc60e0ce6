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
// these finalizers of Argo CD say: where none of them destroys it, it stays. All that the work holds beside it stays as well. A
// work that is changed asks what is Left, and whose the Application is, as does one that its agent cannot apply. It carries no
// other finalizers: an earlier version sent some that nobody takes off there. Removable returns the work itself where that is so
// already, where it carries a request or makes only what is not there, and where what it carries cannot be read.
//
// A work that is known to have brought the Application takes it, whatever others have changed there since. One that the
// agent has yet to take up looks first: it is not to make anew what is to go. One whose Application has lost the finalizer that
// destroys, as somebody on the cluster may remove it, brings the finalizer again before it goes.
func Removable(w *workv1.ManifestWork, finalizers []string) (*workv1.ManifestWork, bool) {
	held, ok := Carried(w)
	if !ok || CarriesRequest(w) || UpdateModeOf(w) == CreateOnly {
		return w, false
	}
	own := OwnerOf(w) == OwnerSelf && UpdateModeOf(w) != ForceApply
	applies := isFirst(w) || Outcome(w) != metav1.ConditionFalse && UpdateModeOf(w) != ReadOnly
	cascades := argocd.Destroys(finalizers) && (!brought(w) || Cascades(w))
	said := sameDeletion(w) && sameSet(held.Finalizers, finalizers) && (TellsLeft(w) || applies && cascades)
	disabled := IsReadOnly(w) && ByOlder(w)
	if said && !own && !disabled {
		return w, false
	}
	out := w.DeepCopy()
	revive(out)
	if len(out.Spec.ManifestConfigs) == 0 {
		out.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config(held, Requests{})} // an older controller's
	}
	if s := out.Spec.ManifestConfigs[0].UpdateStrategy; s == nil || s.Type == workv1.UpdateStrategyTypeUpdate {
		out.Spec.ManifestConfigs[0].UpdateStrategy = Strategy() // an older controller's, which leaves finalizers as they are
	}
	switch {
	case own, UpdateModeOf(w) == Apply && Outcome(w) == metav1.ConditionTrue:
		SetUpdateMode(out, ForceApply)
	case !Seen(w):
		SetUpdateMode(out, ReadOnly)
	}
	if ask(out, finalizers) != nil {
		return w, false
	}
	return out, true
}

// Withdrawn is what Removable comes to for a work that carries a request: the Application as it is now takes its place,
// since nobody knows which finalizers the cluster has. app is nil where that may not be sent there any more. Then the
// Application there just gets the finalizers, or where it is to keep what it deployed it is released: they cannot be taken
// off without the rest.
func Withdrawn(w *workv1.ManifestWork, app *argocd.Application, finalizers []string) (*workv1.ManifestWork, error) {
	if app == nil && !argocd.Destroys(finalizers) {
		return Release(w, nil)
	}
	out := w.DeepCopy()
	if err := PutBack(out, app); err != nil {
		return nil, err
	}
	return out, ask(out, finalizers)
}

// ask gives the Application of a work that is to go just these finalizers, and asks what becomes of that.
func ask(w *workv1.ManifestWork, finalizers []string) error {
	w.Spec.DeleteOption = keeping(w)
	return setFinalizers(w, finalizers, askLeft(w, true))
}

// CarriesRequest tells whether a work carries a request for the moment, and not its Application.
func CarriesRequest(w *workv1.ManifestWork) bool { return Sent(w).Last.State == relay.OnItsWay }

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// setFinalizers gives what a work carries just these finalizers, and the mark of that; empty for none.
func setFinalizers(w *workv1.ManifestWork, finalizers []string, mark string) error {
	for i := range w.Spec.Workload.Manifests {
		if _, other := otherThanApplication(w.Spec.Workload.Manifests[i].Raw); other {
			continue
		}
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
	return recounted(fields)
}

// put sets a field of a JSON object, or takes it out.
func put(fields map[string]json.RawMessage, key string, value any, there bool) error {
	delete(fields, key)
	if !there {
		return nil
	}
	raw, err := Marshal(value)
	fields[key] = raw
	return err
}
