package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/cmd/towline-source/internal/grants"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// Settings is the ConfigMap of Argo CD's settings.
const Settings = "argocd-cm"

// InClusterRefused reports whether argocd-server refuses to use the hub as the destination of an Application. Argo CD
// treats every value except "false" as a permission, and also a missing value.
func (h *Hub) InClusterRefused() bool { return h.text(Settings, "cluster.inClusterEnabled") == "false" }

// Follow calls ended for an Application when Grants.Application may have another answer, and changed when the settings of
// Argo CD change. For the settings, New must have the name of the ConfigMap.
func (h *Hub) Follow(ctx context.Context, ended func(app types.NamespacedName), changed func()) error {
	apps := toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, ok := before.(*argocd.Application)
			app, ok2 := after.(*argocd.Application)
			if ok && ok2 && (work.Key(was) != work.Key(app) || was.Pulled() != app.Pulled() || was.ReconcileSkipped() != app.ReconcileSkipped()) {
				ended(client.ObjectKeyFromObject(app))
			}
		},
		DeleteFunc: func(last any) {
			if o, err := meta.Accessor(object(last)); err == nil {
				ended(types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
			}
		},
	}
	ofWork := func(last any) {
		if w, ok := object(last).(*metav1.PartialObjectMetadata); ok {
			if key, ok := work.HubApplication(w); ok {
				ended(key)
			}
		}
	}
	works := toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			w, ok := after.(*metav1.PartialObjectMetadata)
			if was, ok2 := before.(*metav1.PartialObjectMetadata); ok && ok2 && !sameDelivery(was, w) {
				ofWork(before)
				ofWork(after)
			}
		},
		DeleteFunc: ofWork,
	}
	for kind, handler := range map[client.Object]toolscache.ResourceEventHandler{&argocd.Application{}: apps, grants.Works(): works} {
		informer, err := h.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	if h.trusted[Settings] == nil {
		return nil
	}
	_, err := h.trusted[Settings].AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	return err
}

func sameDelivery(a, b *metav1.PartialObjectMetadata) bool {
	ofA, _ := work.HubApplication(a)
	ofB, _ := work.HubApplication(b)
	return ofA == ofB && a.DeletionTimestamp.IsZero() == b.DeletionTimestamp.IsZero()
}

// object returns the last known state of a deleted object.
func object(last any) any {
	if unknown, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return last
}
