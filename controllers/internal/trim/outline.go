package trim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// skipping are the kept annotations of an Application with the annotation AnnotationSkipReconcile.
var skipping = map[string]string{apis.AnnotationSkipReconcile: "true"}

// Outline is a cache.TransformFunc for the metadata of Applications that Towline does not manage. Outline keeps only
// whether the hub's own Argo CD skips the Application, and whether the Application is paused. During a deletion,
// Outline keeps the metadata that the deletion depends on.
func Outline(obj any) (any, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil // a tombstone
	}
	out := &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta}
	out.Namespace, out.Name, out.ResourceVersion = m.Namespace, m.Name, m.ResourceVersion
	app := argocd.Application{ObjectMeta: m.ObjectMeta}
	paused, says := m.Annotations[apis.AnnotationPaused]
	switch {
	case !m.DeletionTimestamp.IsZero():
		out.DeletionTimestamp, out.Annotations, out.Finalizers = m.DeletionTimestamp, m.Annotations, m.Finalizers
	case says:
		out.Annotations = map[string]string{apis.AnnotationPaused: paused}
		if app.ReconcileSkipped() {
			out.Annotations[apis.AnnotationSkipReconcile] = "true"
		}
	case app.ReconcileSkipped():
		out.Annotations = skipping
	}
	typeMeta(&out.TypeMeta)
	intern(&out.Namespace)
	return out, nil
}
