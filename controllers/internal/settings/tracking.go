package settings

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// +kubebuilder:rbac:groups="",namespace=argocd,resources=configmaps,resourceNames=argocd-cm,verbs=list;watch

const (
	// argocdSettings is the ConfigMap of Argo CD's settings.
	argocdSettings = "argocd-cm"

	// labelKey is the ConfigMap's key for the label (Argo CD 2.14 and 3.5).
	labelKey = "application.instanceLabelKey"
)

// TrackingLabel reads the label by which the hub's Argo CD tracks deployed objects, if an administrator has chosen a
// label. TrackingLabel reads the label from the cache. A nil TrackingLabel knows no label. Towline does not send the
// label to clusters, like the marks listed in package argocd.
type TrackingLabel struct {
	client.Reader

	// Namespace is the namespace of the hub's Argo CD.
	Namespace string
}

// LabelKey returns the configured key of the tracking label of the hub's Argo CD, or an empty string for the default.
func (r *TrackingLabel) LabelKey(ctx context.Context) (string, error) {
	if r == nil {
		return "", nil
	}
	cm := &corev1.ConfigMap{}
	err := r.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: argocdSettings}, cm, client.UnsafeDisableDeepCopy)
	return labelOf(cm), client.IgnoreNotFound(err)
}

// Unlabelled returns the Application without the tracking label, for making a payload. Without the label, the result is
// app itself. With the label, the result is a copy.
func (r *TrackingLabel) Unlabelled(ctx context.Context, app *argocd.Application) (*argocd.Application, error) {
	label, err := r.LabelKey(ctx)
	if _, has := app.Labels[label]; !has {
		return app, err
	}
	out := *app
	out.Labels = maps.Clone(app.Labels)
	delete(out.Labels, label)
	return &out, err
}

// Watches wake the Applications of whom when the label changes.
func (r *TrackingLabel) Watches(whom handler.MapFunc) []loop.Watch {
	if r == nil {
		return nil
	}
	return []loop.Watch{loop.WatchOf(&corev1.ConfigMap{}, whom, labelChanged())}
}

// TrackingCache limits a cache to the settings of the Argo CD in a namespace, and to the label in the settings.
func TrackingCache(namespace string) cache.ByObject {
	return cache.ByObject{
		Field: fields.AndSelectors(
			fields.OneTermEqualSelector("metadata.namespace", namespace), fields.OneTermEqualSelector("metadata.name", argocdSettings)),
		Transform: labelOnly,
	}
}

// labelOnly keeps only the label of the settings.
func labelOnly(obj any) (any, error) {
	cm, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return obj, nil // a tombstone
	}
	cm.ManagedFields, cm.Annotations, cm.BinaryData = nil, nil, nil
	cm.Data = map[string]string{labelKey: labelOf(cm)}
	return cm, nil
}

func labelChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return labelOf(e.Object) != "" },
		UpdateFunc: func(e event.UpdateEvent) bool { return labelOf(e.ObjectOld) != labelOf(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return labelOf(e.Object) != "" },
	}
}

func labelOf(obj client.Object) string { return obj.(*corev1.ConfigMap).Data[labelKey] }
