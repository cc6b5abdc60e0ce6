package argocd

import (
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
)

// marks are labels and annotations of the hub's controllers. The controllers identify their own objects by these marks,
// and store their progress in marks.
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

// IsMark returns whether a label or annotation is a mark of a hub controller, not a user's request. A mark must not
// reach a cluster. The cluster's Argo CD may have an Application with the name in the mark. This Argo CD would then
// treat the object as deployed by its Application, and with prune delete the object. A label counts by its key, for any
// writer, because the cluster's Argo CD cannot distinguish writers either.
func IsMark(key string) bool { return slices.Contains(marks, key) }

// AnyMark returns whether the labels or annotations have a mark.
func AnyMark[V any](in map[string]V) bool {
	return slices.ContainsFunc(marks, func(key string) bool { _, has := in[key]; return has })
}

// Unmarked returns a copy of labels or annotations without marks.
func Unmarked[V any](in map[string]V) map[string]V {
	out := maps.Clone(in)
	maps.DeleteFunc(out, func(key string, _ V) bool { return IsMark(key) })
	return out
}
