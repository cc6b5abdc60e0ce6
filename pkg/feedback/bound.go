package feedback

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// maxManifests is the maximum number of reported resources in memory; resources named in the options come first.
	// The work of an Application asks about one resource. During a change of its namespace, the agent still reports on
	// the previous namespace.
	maxManifests = 3

	// maxRaw is the maximum size of a list in an agent's report, in bytes of JSON (v1.2.0: maxJSONRawLength).
	maxRaw = 1024

	// maxSynced is the maximum size of the agent's message about unreadable rules, in bytes. Each unreadable rule
	// takes some 120 bytes, and an Application has three rules for each of its sources.
	maxSynced = 8 << 10

	// maxPart is the maximum size of each part of a resource's identity, in bytes.
	maxPart = 253
)

// conditionTypes are the types of the conditions that work agents (v1.2.0) set on a work or on a manifest.
var conditionTypes = []string{
	workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded, workv1.WorkComplete, ConditionSynced,
	ConditionCompared, ConditionUnedited,
}

// bound is the limit of a read value: its index among all values, and the maximum size of its text in bytes.
type bound struct{ place, bytes int }

// bounds are the limits of all values, by name. If a rule accepts a text of MaxMessage bytes, the value is a message,
// with MaxMessage as its limit.
var bounds = func() map[string]bound {
	long, out := strings.Repeat("x", MaxMessage), map[string]bound{}
	for _, r := range known {
		b := bound{place: len(out), bytes: MaxWord}
		if r.take(&parsed{}, value{Type: workv1.String, String: &long}) {
			b.bytes = MaxMessage
		}
		out[r.name] = b
	}
	for _, path := range slices.Concat(FinalizersRule().JsonPaths, OriginRule().JsonPaths) {
		out[path.Name] = bound{place: len(out), bytes: MaxWord}
	}
	return out
}()

// Bound reduces the status of a work to the read parts: the values by name and the conditions by type, the first of
// each. options are the work's manifest options. An oversized text keeps one byte above its limit, to stay recognizable
// as too long. A cluster can write 1.5 MB into the status of every work. At most about a twentieth remains.
//
// For the remaining resources, Parse, Left and WorkCondition give the same results as for the whole status. Bound does
// not write to a status within the limits.
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

// first returns which manifests to keep: the first manifest of each resource, resources named in the options before
// other resources.
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

// exists returns whether a resource with this identity can exist.
func exists(m *workv1.ManifestResourceMeta) bool {
	return max(len(m.Group), len(m.Version), len(m.Kind), len(m.Resource), len(m.Namespace), len(m.Name)) <= maxPart
}

// boundConditions returns the first condition of each read type. Without a read type, one other condition stays as a
// proof of a report from the agent.
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

// boundValue keeps only the field for the value's type.
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

// chosen returns the items to keep, by index. If all items stay, the result is the same slice. Otherwise the result is
// a new slice, so that the garbage collector can free the other items.
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

// cut shortens an oversized text to one byte above the limit, and frees the memory of the rest.
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
