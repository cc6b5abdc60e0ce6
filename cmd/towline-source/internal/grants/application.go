package grants

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// Application returns the key of the hub Application that a work delivers to a cluster at this moment, and whether the
// Application exists. The work has the name of the Application's own work, and is not being deleted. The Application is
// for this cluster, and the hub's own Argo CD does not deploy the Application.
func (g Grants) Application(ctx context.Context, cluster, name string) (types.NamespacedName, bool, error) {
	var none types.NamespacedName
	w := Works()
	if err := g.Get(ctx, types.NamespacedName{Namespace: cluster, Name: name}, w, client.UnsafeDisableDeepCopy); err != nil {
		return none, false, client.IgnoreNotFound(err)
	}
	app, err := g.delivered(ctx, w)
	if app == nil || err != nil || !app.ReconcileSkipped() {
		return none, false, err
	}
	return client.ObjectKeyFromObject(app), true, nil
}

// delivered returns the hub Application that a work delivers to the cluster of the work at this moment; nil for none.
func (g Grants) delivered(ctx context.Context, w *metav1.PartialObjectMetadata) (*argocd.Application, error) {
	key, ok := work.HubApplication(w)
	if !ok || !w.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	app := &argocd.Application{}
	if err := g.Get(ctx, key, app, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !app.Pulled() || work.Key(app) != client.ObjectKeyFromObject(w) {
		return nil, nil
	}
	return app, nil
}
