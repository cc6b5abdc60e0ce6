package feedback

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// maxManifests is how many resources are held that a work reports on, those that it asks about first. The work of an
	// Application asks about one; while that changes its namespace, the agent reports on the one before.
	maxManifests = 3

	// maxRaw is how many bytes of JSON an agent reports of a list (v1.2.0: maxJSONRawLength).
	maxRaw = 1024

	// maxSynced is how many bytes the agent's account of the rules may have that it could not read. Each takes some 120,
	// and an Application has two for each of its sources.
	maxSynced = 8 << 10

	// maxPart is how many bytes any part of a resource's identity may have.
	maxPart = 253
)

// conditionTypes are the types of the conditions that work agents (v1.2.0) set on a work or on a manifest.
var conditionTypes = []string{
	workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded, workv1.WorkComplete, ConditionSynced,
	ConditionCompared,
}

// bound is how much is looked at of a value that is read: its place among all of these, and how many bytes of its text.
type bound struct{ place, bytes int }

// bounds are those of all values, by their names. A rule that takes messages takes one here.
var bounds = func() map[string]bound {
	long, out := strings.Repeat("x", MaxMessage), map[string]bound{}
	for _, r := range known {
		b := bound{place: len(out), bytes: MaxWord}
		if r.take(&parsed{}, value{Type: workv1.String, String: &long}) {
			b.bytes = MaxMessage
		}
		out[r.name] = b
	}
	for _, path := range slices.Concat(LeftRule().JsonPaths, OriginRule().JsonPaths) {
		out[path.Name] = bound{place: len(out), bytes: MaxWord}
	}
	return out
}()

// Bound cuts the status of a work with those options to what is read of it: the values by their names and the conditions by
// their types, the first of each. A text keeps one byte more than it may have, so that it still is too long. A cluster can
// write 1.5 MB into the status of every work; about a twentieth of that is the most that is left.
//
// Of the resources that are left, Parse, Left and WorkCondition say what they say of the whole. A status that is within its
// bounds is not written to.
func Bound(status *workv1.ManifestWorkStatus, options []workv1.ManifestConfigOption) {
	status.Conditions = boundConditions(status.Conditions)
	manifests := chosen(status.ResourceStatus.Manifests, first(status.ResourceStatus.Manifests, options))
	for i := range manifests {
		m := &manifests[i]
		m.Conditions = boundConditions(m.Conditions)
		m.StatusFeedbacks.Values = boundValues(m.StatusFeedbacks.Values)
	}
	status.ResourceStatus.Manifests = manifests
}

// first tells which manifests to hold: the first of each resource, those that the options name before others.
func first(manifests []workv1.ManifestCondition, options []workv1.ManifestConfigOption) func(int) bool {
	type identity [4]string
	held := make(map[identity]int, maxManifests)
	hold := func(wanted func(identity) bool) {
		for i := range manifests {
			m := &manifests[i].ResourceMeta
			id := identity{m.Group, m.Resource, m.Namespace, m.Name}
			if _, known := held[id]; len(held) < maxManifests && !known && exists(m) && wanted(id) {
				held[id] = i
			}
		}
	}
	hold(func(id identity) bool {
		return slices.ContainsFunc(options, func(o workv1.ManifestConfigOption) bool {
			r := &o.ResourceIdentifier
			return id == identity{r.Group, r.Resource, r.Namespace, r.Name}
		})
	})
	hold(func(identity) bool { return true })
	return func(i int) bool {
		m := &manifests[i].ResourceMeta
		at, ok := held[identity{m.Group, m.Resource, m.Namespace, m.Name}]
		return ok && at == i
	}
}

// exists tells whether a resource of that identity can exist.
func exists(m *workv1.ManifestResourceMeta) bool {
	return max(len(m.Group), len(m.Version), len(m.Kind), len(m.Resource), len(m.Namespace), len(m.Name)) <= maxPart
}

// boundConditions are the first ones of the types that are read. That an agent has said anything is told by one of another
// type as well.
func boundConditions(in []metav1.Condition) []metav1.Condition {
	read := func(i int) bool {
		same := func(c metav1.Condition) bool { return c.Type == in[i].Type }
		return slices.Contains(conditionTypes, in[i].Type) && !slices.ContainsFunc(in[:i], same)
	}
	out := chosen(in, read)
	if len(out) == 0 && len(in) > 0 {
		out = chosen(in, func(i int) bool { return i == 0 })
	}
	for i := range out {
		c := &out[i]
		cut(&c.Type, MaxWord)
		cut(&c.Reason, MaxWord)
		switch {
		case c.Type == ConditionSynced:
			cut(&c.Message, maxSynced)
		case len(c.Message) > MaxMessage:
			c.Message = Clean(c.Message, MaxMessage)
		}
	}
	return out
}

func boundValues(in []workv1.FeedbackValue) []workv1.FeedbackValue {
	seen := make([]bool, len(bounds))
	out := chosen(in, func(i int) bool {
		b, known := bounds[in[i].Name]
		if !known || seen[b.place] {
			return false
		}
		seen[b.place] = true
		return true
	})
	for i := range out {
		boundValue(&out[i].Value, bounds[out[i].Name].bytes)
	}
	return out
}

// boundValue leaves what a value of its type is read from.
func boundValue(v *workv1.FieldValue, limit int) {
	in := *v
	bounded := workv1.FieldValue{Type: in.Type}
	switch in.Type {
	case workv1.String:
		bounded.String = cutText(in.String, limit)
	case workv1.JsonRaw:
		bounded.JsonRaw = cutText(in.JsonRaw, maxRaw)
	case workv1.Integer:
		bounded.Integer = in.Integer
	case workv1.Boolean:
		bounded.Boolean = in.Boolean
	default:
		bounded.Type = ""
	}
	if bounded != in {
		*v = bounded
	}
}

// chosen are the items that are to be held, by their places: the same slice where all are, and otherwise one without the
// others, so that these can be forgotten.
func chosen[T any](in []T, hold func(int) bool) []T {
	places := make([]int, 0, min(len(in), len(bounds)))
	for i := range in {
		if hold(i) {
			places = append(places, i)
		}
	}
	if len(places) == len(in) {
		return in
	}
	if len(places) == 0 {
		return nil
	}
	out := make([]T, len(places))
	for i, place := range places {
		out[i] = in[place]
	}
	return out
}

// cut leaves one byte more than the limit of a text that is over it, and nothing of the others in memory.
func cut(s *string, limit int) {
	if len(*s) > limit {
		*s = strings.Clone((*s)[:limit+1])
	}
}

func cutText(s *string, limit int) *string {
	if s == nil || len(*s) <= limit {
		return s
	}
	short := *s
	cut(&short, limit)
	return &short
}
