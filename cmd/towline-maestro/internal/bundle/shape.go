package bundle

import (
	"encoding/json"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// object is the identity of a manifest, as Maestro compares it.
type object struct{ apiVersion, kind, namespace, name string }

// SameShape tells whether Maestro takes one spec for an update of the other: its manifests must be of the same objects, in the same order.
// For any other update the work gets another bundle, with the next number of its shape. The bundle that it had goes when the
// agent has applied the new one: until then both own on the cluster what both have, so that none of it is removed.
func SameShape(a, b *workv1.ManifestWorkSpec) bool { return slices.Equal(objects(a), objects(b)) }

func objects(spec *workv1.ManifestWorkSpec) []object {
	out := make([]object, len(spec.Workload.Manifests))
	for i := range spec.Workload.Manifests {
		var o metav1.PartialObjectMetadata
		if json.Unmarshal(raw(&spec.Workload.Manifests[i]), &o) == nil {
			out[i] = object{o.APIVersion, o.Kind, o.Namespace, o.Name}
		}
	}
	return out
}

// raw is a manifest as it is sent.
func raw(m *workv1.Manifest) []byte {
	data, err := m.MarshalJSON()
	if err != nil {
		return nil
	}
	return data
}

// After tells whether a bundle is of a later shape of a work, or of a later work of the same name.
func (b *Bundle) After(other *Bundle) bool {
	return b.First > other.First || b.First == other.First && b.Shape > other.Shape
}

// Replaces tells whether the agent has applied the bundle as it is. What an earlier bundle of the work still owns alone may go then.
func (b *Bundle) Replaces() bool {
	c := b.seen()
	return c != nil && c.Status == metav1.ConditionTrue
}

// Answered tells whether the agent has said of the bundle as it is that it has applied it, or that it could not.
func (b *Bundle) Answered() bool { return b.seen() != nil }

// MayGo tells whether the end of an earlier bundle takes no more than it is to take. Where something is to stay on the cluster, the
// agent has to have dealt with the bundle that says so, and thereby to have given up what it owned.
func (b *Bundle) MayGo(later *Bundle) bool {
	o := orphaning(b.Work.Spec.DeleteOption, later.Work.Spec.DeleteOption)
	leaves := o != nil && o.PropagationPolicy != "" && o.PropagationPolicy != workv1.DeletePropagationPolicyTypeForeground
	return !leaves || b.seen() != nil && apiequality.Semantic.DeepEqual(o, b.Work.Spec.DeleteOption)
}

// seen is what the agent says of applying the bundle as it is; nil before the agent has. A bundle without a sequence may show the status of
// the bundle before.
func (b *Bundle) seen() *metav1.Condition {
	if b.Sequence == "" {
		return nil
	}
	c := meta.FindStatusCondition(b.Work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration != b.Work.Generation {
		return nil
	}
	return c
}

// Follow is an earlier bundle changed so that of objects which the later one has too it says the same: two bundles that say different
// things of one object would change it in turns. It is false where there is nothing to change.
func (b *Bundle) Follow(later *Bundle) (*Bundle, bool) {
	now := map[object]int{}
	for i, o := range objects(&later.Work.Spec) {
		now[o] = i
	}
	w, instead := b.Work.DeepCopy(), map[int]workv1.Manifest{}
	manifests := w.Spec.Workload.Manifests
	for i, o := range objects(&b.Work.Spec) {
		at, ok := now[o]
		if !ok {
			continue
		}
		manifests[i] = later.Work.Spec.Workload.Manifests[at]
		if m, ok := later.instead[at]; ok {
			instead[i] = m
		}
	}
	w.Spec = *later.Work.Spec.DeepCopy()
	w.Spec.Workload.Manifests = manifests
	w.Spec.ManifestConfigs = configsOf(later, b)
	w.Spec.DeleteOption = orphaning(b.Work.Spec.DeleteOption, later.Work.Spec.DeleteOption)
	out := b.next(w)
	out.instead = instead
	return out, w.Generation != b.Work.Generation
}

// orphaning is what the end of an earlier bundle leaves on the cluster: what it was to leave, which the later one may not have any more,
// and what the later one is to leave.
func orphaning(earlier, later *workv1.DeleteOption) *workv1.DeleteOption {
	var rules []workv1.OrphaningRule
	for _, o := range []*workv1.DeleteOption{later, earlier} {
		switch {
		case o == nil:
		case o.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan:
			return o.DeepCopy()
		case o.PropagationPolicy == workv1.DeletePropagationPolicyTypeSelectivelyOrphan && o.SelectivelyOrphan != nil:
			for _, rule := range o.SelectivelyOrphan.OrphaningRules {
				if !slices.Contains(rules, rule) {
					rules = append(rules, rule)
				}
			}
		}
	}
	if len(rules) == 0 {
		return later.DeepCopy()
	}
	out := later.DeepCopy()
	if out == nil {
		out = &workv1.DeleteOption{}
	}
	out.PropagationPolicy = workv1.DeletePropagationPolicyTypeSelectivelyOrphan
	out.SelectivelyOrphan = &workv1.SelectivelyOrphan{OrphaningRules: rules}
	return out
}

// configsOf are how the objects of a bundle are applied, and those of an earlier one that it does not have. An object without that is
// overwritten, whoever has made it.
func configsOf(later, earlier *Bundle) []workv1.ManifestConfigOption {
	out := later.Work.Spec.DeepCopy().ManifestConfigs
	for _, config := range earlier.Work.Spec.DeepCopy().ManifestConfigs {
		if !slices.ContainsFunc(out, func(c workv1.ManifestConfigOption) bool { return c.ResourceIdentifier == config.ResourceIdentifier }) {
			out = append(out, config)
		}
	}
	return out
}

// sameJSON compares by content: a manifest that went through Maestro has its keys in another order.
func sameJSON(a, b *workv1.ManifestWorkSpec) bool { return canonical(a) == canonical(b) }

func canonical(spec *workv1.ManifestWorkSpec) string {
	text, err := jsonOf(spec)
	if err != nil {
		return err.Error()
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err.Error()
	}
	text, _ = jsonOf(v) // what was just decoded
	return text
}
