package migrate

import (
	"encoding/json"
	"reflect"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// A Verb is the action of a step on a work at the target of the migration.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Remove Verb = "remove"
	Keep   Verb = "keep" // The work at the target needs no change.
	Wait   Verb = "wait" // The step has to wait for the reason in Step.Why.
)

// A Step is the planned action for a single work.
type Step struct {
	Verb Verb

	// From is the work at the origin. To is the work of the same name at the target. Either may be nil, but not both.
	From, To *workv1.ManifestWork

	// Why is the reason of a waiting step.
	Why string
}

// Name returns the namespace and name of the step's work.
func (s *Step) Name() types.NamespacedName {
	w := s.From
	if w == nil {
		w = s.To
	}
	return nameOf(w)
}

func nameOf(w *workv1.ManifestWork) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
}

// Plan returns the steps to make the works at the target (to) equal to the works at the origin (from), in the order of
// the names. A work at the target without a work at the origin is removed with prune, and waits for a decision without
// prune.
func Plan(from, to []*workv1.ManifestWork, prune bool) []Step {
	there := make(map[types.NamespacedName]*workv1.ManifestWork, len(to))
	for _, w := range to {
		there[nameOf(w)] = w
	}
	steps := make([]Step, 0, len(from))
	for _, w := range from {
		steps = append(steps, copied(w, there[nameOf(w)]))
		delete(there, nameOf(w))
	}
	for _, w := range there {
		steps = append(steps, left(w, prune))
	}
	slices.SortFunc(steps, func(a, b Step) int { return compareNames(a.Name(), b.Name()) })
	return steps
}

// copied returns the step for a work at the origin. to is the work at the target, or nil.
func copied(from, to *workv1.ManifestWork) Step {
	s := Step{Verb: Keep, From: from, To: to}
	switch {
	case !from.DeletionTimestamp.IsZero():
		s.Verb, s.Why = Wait, "the work is being deleted, and its cluster's agent has not confirmed that yet"
	case to == nil:
		s.Verb = Create
	case !to.DeletionTimestamp.IsZero():
		s.Verb, s.Why = Wait, "an earlier work of this name is still being deleted there"
	case !same(from, to):
		s.Verb = Update
	}
	return s
}

// left returns the step for a work at the target without a work at the origin.
func left(w *workv1.ManifestWork, prune bool) Step {
	s := Step{Verb: Remove, To: w}
	switch {
	case !w.DeletionTimestamp.IsZero():
		s.Verb = Keep // The deletion of the work has already begun.
	case !prune:
		s.Verb, s.Why = Wait, "the work is only there: --prune removes what has been deleted since the last copy"
	}
	return s
}

// same tells whether two works have the same labels, annotations, owners and spec.
func same(a, b *workv1.ManifestWork) bool {
	return apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && sameJSON(&a.Spec, &b.Spec)
}

// sameJSON compares the decoded JSON of two specs, because a database may return the keys of a manifest in a different
// order.
func sameJSON(a, b *workv1.ManifestWorkSpec) bool {
	x, err := plain(a)
	if err != nil {
		return false
	}
	y, err := plain(b)
	return err == nil && reflect.DeepEqual(x, y)
}

func plain(spec *workv1.ManifestWorkSpec) (out any, err error) {
	data, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

func compareNames(a, b types.NamespacedName) int {
	switch {
	case a.Namespace != b.Namespace && a.Namespace < b.Namespace, a.Namespace == b.Namespace && a.Name < b.Name:
		return -1
	case a == b:
		return 0
	}
	return 1
}
