package work

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/payload"
)

// Update merges desired into existing, and reports whether existing had to change. Towline owns the whole spec. Of
// the labels and annotations, Towline owns ownKeys and the keys in desired; all other keys stay. Update does not
// change its arguments, and returns existing itself without a difference.
func Update(existing, desired *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	same := SameSpec(&existing.Spec, &desired.Spec)
	if same && owned(existing.Labels, desired.Labels) && owned(existing.Annotations, desired.Annotations) {
		return existing, false // the common case, without a copy
	}
	out := existing.DeepCopy()
	out.Labels = own(existing.Labels, desired.Labels)
	out.Annotations = own(existing.Annotations, desired.Annotations)
	if !same {
		desired.Spec.DeepCopyInto(&out.Spec)
	}
	return out, true
}

// ownKeys are labels and annotations of Towline. Update removes a key without a desired value.
var ownKeys = []string{
	apis.LabelPull, apis.LabelApplicationSet, apis.LabelApplicationSetHash,
	apis.AnnotationHubNamespace, apis.AnnotationHubName, apis.AnnotationApplicationSet,
	apis.AnnotationRefreshSent, apis.AnnotationRequestSent, apis.AnnotationReplaced, apis.AnnotationChangedAt, apis.AnnotationUpdateMode,
	apis.AnnotationOrphanedAt, apis.AnnotationOrphaned, apis.AnnotationReleasedTo, apis.AnnotationGrantedBy,
	apis.AnnotationReturnsBy, apis.AnnotationHandedOver, apis.AnnotationSources,
}

// owned reports whether own would change nothing.
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

// SameSpec compares a desired spec with the spec returned by the API server.
func SameSpec(existing, desired *workv1.ManifestWorkSpec) bool {
	return sameManifests(existing.Workload.Manifests, desired.Workload.Manifests) &&
		slices.EqualFunc(existing.ManifestConfigs, desired.ManifestConfigs, sameConfig) &&
		equality.Semantic.DeepEqual(existing.DeleteOption, desired.DeleteOption) &&
		equality.Semantic.DeepEqual(existing.Executor, desired.Executor)
}

// sameConfig compares two options. An OCM before API v1.2 silently drops feedbackScrapeType, and an OCM with the
// field never leaves the field empty. A write cannot repair an empty value, so an empty value is no difference. An
// OCM before v1.0 drops conditionRules, so existing works without the rules do not differ either. Works of an earlier
// Towline get the rules with their next change.
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
	existing.FeedbackRules, desired.FeedbackRules = nil, nil // the largest parts, compared already
	existing.ConditionRules, desired.ConditionRules = nil, nil
	return equality.Semantic.DeepEqual(existing, desired)
}

// sameConditionRules compares the CEL rules of two works.
func sameConditionRules(a, b []workv1.ConditionRule) bool {
	shared := len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] // the caches and Render share the slices
	return shared || equality.Semantic.DeepEqual(a, b)
}

func sameRule(a, b workv1.FeedbackRule) bool {
	return a.Type == b.Type && slices.Equal(a.JsonPaths, b.JsonPaths)
}

func sameManifests(a, b []workv1.Manifest) bool {
	return slices.EqualFunc(a, b, func(x, y workv1.Manifest) bool { return payload.Same(x.Raw, y.Raw) })
}
