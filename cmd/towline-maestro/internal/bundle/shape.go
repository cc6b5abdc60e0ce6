package bundle

import (
	"encoding/json"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// object is the identity of a manifest's object in Maestro's comparison.
type object struct{ apiVersion, kind, namespace, name string }

// SameShape tells whether Maestro accepts one spec as an update of the other: both must have manifests of the same
// objects, in the same order.
//
// For any other update, the work gets a new bundle with the next shape. Towline deletes the earlier bundle after the
// agent has applied the new bundle. Until then, both bundles own the shared objects on the cluster, so that the agent
// removes none of the shared objects.
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

// raw returns the JSON of a manifest, or nil if the manifest cannot be encoded.
func raw(m *workv1.Manifest) []byte {
	data, err := m.MarshalJSON()
	if err != nil {
		return nil
	}
	return data
}

// After tells whether the bundle b has a later shape of the same work, or is of a later work of the same name.
func (b *Bundle) After(other *Bundle) bool {
	return b.First > other.First || b.First == other.First && b.Shape > other.Shape
}

// Replaces tells whether the agent has applied the current spec of the bundle. Then Towline may delete the earlier
// bundles of the work, and the agent may remove the objects owned only by an earlier bundle.
func (b *Bundle) Replaces() bool {
	c := b.seen()
	return c != nil && c.Status == metav1.ConditionTrue
}

// Answered tells whether the agent has reported success or failure for the current spec of the bundle.
func (b *Bundle) Answered() bool { return b.seen() != nil }

// MayGo tells whether Towline may delete the earlier bundle b without the loss of an object that must stay on the
// cluster. If objects must stay, the delete option of b must name the objects, and the agent must have reported on the
// spec with the delete option. The agent has then given up the ownership of the objects.
func (b *Bundle) MayGo(later *Bundle) bool {
	o := orphaning(b.Work.Spec.DeleteOption, later.Work.Spec.DeleteOption)
	leaves := o != nil && o.PropagationPolicy != "" && o.PropagationPolicy != workv1.DeletePropagationPolicyTypeForeground
	return !leaves || b.seen() != nil && apiequality.Semantic.DeepEqual(o, b.Work.Spec.DeleteOption)
}

// seen returns the agent's Applied condition for the current generation of the bundle, and nil before the agent's
// report. A bundle without a sequence may have the status of the bundle before, so seen returns nil.
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

// Follow returns the earlier bundle b with the manifests of the later bundle for the shared objects. Two bundles with
// different manifests for the same object would overwrite the object in turns. The second result is false if the spec
// of b does not change.
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

// orphaning returns the delete option for the end of an earlier bundle. The delete option orphans the objects orphaned
// by the earlier bundle, because the later bundle may not have the objects. The delete option also orphans the objects
// orphaned by the later bundle.
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

// configsOf returns the manifest configs of the later bundle, and the configs of the earlier bundle for the remaining
// objects. The agent overwrites an object without a config, even if another client has created the object.
func configsOf(later, earlier *Bundle) []workv1.ManifestConfigOption {
	out := later.Work.Spec.DeepCopy().ManifestConfigs
	for _, config := range earlier.Work.Spec.DeepCopy().ManifestConfigs {
		if !slices.ContainsFunc(out, func(c workv1.ManifestConfigOption) bool { return c.ResourceIdentifier == config.ResourceIdentifier }) {
			out = append(out, config)
		}
	}
	return out
}

// sameJSON compares two specs by content, because Maestro returns the keys of a manifest in a different order.
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
	text, _ = jsonOf(v) // Decoded JSON can always be encoded again.
	return text
}
