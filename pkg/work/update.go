package work

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Update is existing changed to say what desired says, and whether anything had to change. The spec is
// Towline's as a whole. Of the labels and annotations only the keys that Render sets or could have set are;
// those of others stay. Neither argument is changed; where nothing had to, existing itself is returned.
func Update(existing, desired *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	same := SameSpec(&existing.Spec, &desired.Spec)
	if same && owned(existing.Labels, desired.Labels) && owned(existing.Annotations, desired.Annotations) {
		return existing, false // as nearly always: nothing is copied for that
	}
	out := existing.DeepCopy()
	out.Labels = own(existing.Labels, desired.Labels)
	out.Annotations = own(existing.Annotations, desired.Annotations)
	if !same {
		desired.Spec.DeepCopyInto(&out.Spec)
	}
	return out, true
}

// ownKeys are the labels and annotations that a work has only if Render says so.
var ownKeys = []string{
	apis.LabelPull, apis.LabelApplicationSet, apis.LabelApplicationSetHash,
	apis.AnnotationHubNamespace, apis.AnnotationHubName, apis.AnnotationApplicationSet,
	apis.AnnotationRefreshSent, apis.AnnotationRequestSent, apis.AnnotationChangedAt, apis.AnnotationUpdateMode,
	apis.AnnotationOrphanedAt, apis.AnnotationOrphaned, apis.AnnotationReleasedTo, apis.AnnotationGrantedBy,
	apis.AnnotationReturnsBy, apis.AnnotationHandedOver,
}

// owned tells whether own would change nothing.
func owned(existing, desired map[string]string) bool {
	for _, k := range ownKeys {
		_, has := existing[k]
		_, wants := desired[k]
		if has && !wants {
			return false
		}
	}
	for k, v := range desired {
		if got, ok := existing[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func own(existing, desired map[string]string) map[string]string {
	out := make(map[string]string, len(existing)+len(desired))
	for k, v := range existing {
		if !slices.Contains(ownKeys, k) {
			out[k] = v
		}
	}
	maps.Copy(out, desired)
	return out
}

// SameSpec compares what desired asks for with what the API server returned for it.
func SameSpec(existing, desired *workv1.ManifestWorkSpec) bool {
	return sameManifests(existing.Workload.Manifests, desired.Workload.Manifests) &&
		slices.EqualFunc(existing.ManifestConfigs, desired.ManifestConfigs, sameConfig) &&
		equality.Semantic.DeepEqual(existing.DeleteOption, desired.DeleteOption) &&
		equality.Semantic.DeepEqual(existing.Executor, desired.Executor)
}

// sameConfig compares two options. An OCM before API v1.2 drops feedbackScrapeType without a word, and one that
// knows the field never leaves it empty: an empty value is not a difference that a write could mend. One before v1.0 drops conditionRules,
// so that works without any do not differ either: those of an earlier Towline get them with their next change.
func sameConfig(existing, desired workv1.ManifestConfigOption) bool {
	if existing.FeedbackScrapeType == "" {
		desired.FeedbackScrapeType = ""
	}
	if len(existing.ConditionRules) == 0 {
		desired.ConditionRules = nil
	}
	if !slices.EqualFunc(existing.FeedbackRules, desired.FeedbackRules, sameRule) ||
		!sameConditionRules(existing.ConditionRules, desired.ConditionRules) {
		return false
	}
	existing.FeedbackRules, desired.FeedbackRules = nil, nil // much the larger part
	existing.ConditionRules, desired.ConditionRules = nil, nil
	return equality.Semantic.DeepEqual(existing, desired)
}

// sameConditionRules compares what works ask about with CEL.
func sameConditionRules(a, b []workv1.ConditionRule) bool {
	shared := len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] // as the caches have it, and what Render makes
	return shared || equality.Semantic.DeepEqual(a, b)
}

func sameRule(a, b workv1.FeedbackRule) bool {
	x, y := a.JsonPaths, b.JsonPaths
	shared := len(x) == len(y) && len(x) > 0 && &x[0] == &y[0] // as the caches have it, and what Render makes
	return a.Type == b.Type && (shared || slices.Equal(x, y))
}

func sameManifests(a, b []workv1.Manifest) bool {
	return slices.EqualFunc(a, b, func(x, y workv1.Manifest) bool { return sameJSON(x.Raw, y.Raw) })
}

// sameJSON compares two JSON texts by what they mean. Most are equal to the byte, since both went through the
// API server's encoder; the order of keys and the escaping may differ where an older controller wrote one.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && equality.Semantic.DeepEqual(x, y)
}

// decode keeps numbers as text: two large integers that differ must not meet in a float.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out any
	err := dec.Decode(&out)
	return out, err
}
