package argocd

import (
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
)

// marks are the labels and annotations by which controllers of the hub know their own, and in which they remember what
// they did.
var marks = []string{
	apis.LabelInstance,
	apis.LabelInstanceOfArgoCD,
	apis.LabelInstanceLegacy,
	apis.LabelApplySet,
	apis.AnnotationTrackingID,
	apis.AnnotationInstallationID,
	apis.AnnotationNotified,
	apis.AnnotationHydrate,
	apis.AnnotationHydrateTimestamp,
	apis.AnnotationRefreshTimestamp,
	apis.AnnotationSpecHash,
}

// IsMark tells whether a label or annotation is a mark of a controller of the hub, and not what a user asks for. A mark
// must not get to a cluster: an Argo CD there that has an Application of the name in the mark takes the object for one
// that it deployed, and with prune deletes it. A label counts by its key, whoever set it: the cluster's Argo CD cannot
// tell either.
func IsMark(key string) bool { return slices.Contains(marks, key) }

// AnyMark tells whether there is a mark among labels or annotations.
func AnyMark[V any](in map[string]V) bool {
	return slices.ContainsFunc(marks, func(key string) bool { _, has := in[key]; return has })
}

// Unmarked is a copy of labels or annotations without marks.
func Unmarked[V any](in map[string]V) map[string]V {
	out := maps.Clone(in)
	maps.DeleteFunc(out, func(key string, _ V) bool { return IsMark(key) })
	return out
}
