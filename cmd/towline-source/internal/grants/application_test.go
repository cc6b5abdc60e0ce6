package grants

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// byKey is a hub whose works can also be read by key.
type byKey struct{ *hub }

// Get implements client.Reader.
func (h byKey) Get(ctx context.Context, key client.ObjectKey, out client.Object, o ...client.GetOption) error {
	w, ok := out.(*metav1.PartialObjectMetadata)
	if !ok {
		return h.hub.Get(ctx, key, out, o...)
	}
	for i := range h.works {
		if client.ObjectKeyFromObject(&h.works[i]) == key {
			h.works[i].DeepCopyInto(w)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "manifestworks"}, key.Name)
}

// TestApplication: a work stands for an Application only while the hub delivers the Application by this work.
func TestApplication(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*hub, *metav1.PartialObjectMetadata, *argocd.Application)
		want   bool
	}{
		"a delivery": {func(*hub, *metav1.PartialObjectMetadata, *argocd.Application) {}, true},
		"a work in deletion": {func(_ *hub, w *metav1.PartialObjectMetadata, _ *argocd.Application) {
			now := metav1.Now()
			w.DeletionTimestamp = &now
		}, false},
		"no work":          {func(h *hub, _ *metav1.PartialObjectMetadata, _ *argocd.Application) { h.works = nil }, false},
		"no Application":   {func(h *hub, _ *metav1.PartialObjectMetadata, _ *argocd.Application) { clear(h.apps) }, false},
		"a work of no hub": {func(_ *hub, w *metav1.PartialObjectMetadata, _ *argocd.Application) { clear(w.Annotations) }, false},
		"another cluster": {func(_ *hub, _ *metav1.PartialObjectMetadata, a *argocd.Application) {
			a.Annotations[apis.AnnotationCluster] = "b"
		}, false},
		"without the label": {func(_ *hub, _ *metav1.PartialObjectMetadata, a *argocd.Application) { clear(a.Labels) }, false},
		"with the hub's own Argo CD": {func(_ *hub, _ *metav1.PartialObjectMetadata, a *argocd.Application) {
			delete(a.Annotations, apis.AnnotationSkipReconcile)
		}, false},
		"made again, with another UID": {func(_ *hub, _ *metav1.PartialObjectMetadata, a *argocd.Application) { a.UID = "11111" }, false},
	} {
		h := &hub{apps: map[client.ObjectKey]*argocd.Application{}}
		w := h.deliver("a", "one", "one")
		name := w.Name
		app := h.apps[client.ObjectKey{Namespace: "argocd", Name: "a"}]
		app.Annotations[apis.AnnotationSkipReconcile] = "true"
		tc.change(h, w, app)
		got, ok, err := Grants{byKey{h}}.Application(t.Context(), cluster, name)
		if err != nil || ok != tc.want || ok && got != client.ObjectKeyFromObject(app) {
			t.Errorf("%s: %v, %t, %v", title, got, ok, err)
		}
	}
}
