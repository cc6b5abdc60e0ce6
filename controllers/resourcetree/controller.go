package resourcetree

import (
	"context"
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/tree"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch
// +kubebuilder:rbac:groups="",namespace=argocd,resources=configmaps,resourceNames=argocd-cmd-params-cm,verbs=get
// +kubebuilder:rbac:groups="",namespace=argocd,resources=services,resourceNames=argocd-redis;argocd-redis-ha-haproxy;openshift-gitops-redis;openshift-gitops-redis-ha-haproxy,verbs=get
// +kubebuilder:rbac:groups="",namespace=argocd,resources=secrets,resourceNames=argocd-redis;argocd-redis-initial-password;openshift-gitops-redis-initial-password;argocd-operator-redis-tls,verbs=get

const (
	// expiry is the lifetime of an entry, equal to Argo CD's own lifetime (--app-state-cache-expiration).
	expiry = time.Hour

	// liveExpiry is the lifetime of a live entry, by which argocd-server reaches clusters. While Towline does not run,
	// only the expiry withdraws the entry.
	liveExpiry = 3 * time.Minute

	// renewals is the number of renewals in the lifetime of an entry. Redis may have dropped the entry long before its
	// expiry, or may have been restarted.
	renewals = 3
)

// Reconciler maintains the Redis entry of an Application.
type Reconciler struct {
	client.Client

	// Store is Argo CD's cache.
	Store Store

	// Home is the namespace of Argo CD on the hub.
	Home string

	// Inventory returns the clusters' reports.
	Inventory Inventory

	// Changes wake Applications with new facts in the inventory.
	Changes []resourcesync.Source

	// Access decides which Applications' resources argocd-server may reach. A nil Access means none.
	Access *Access

	memory memory
	outage outage
}

// Reconcile updates the entry of the named Application.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if left := r.outage.left(time.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	app, err := hub.Get(ctx, r.Client, req.NamespacedName, &argocd.Application{})
	if err != nil {
		return ctrl.Result{}, err
	}
	v := &view{}
	if app != nil && shown(app) {
		if v, err = r.look(ctx, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	var again time.Duration
	if v.live || len(v.resources) > 0 {
		again, err = r.show(ctx, req.NamespacedName, v, app.Refresh() != "")
	} else {
		err = r.end(ctx, req.NamespacedName)
	}
	if err != nil {
		return ctrl.Result{RequeueAfter: r.outage.failed(ctx, time.Now(), err)}, nil
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// shown returns true if Towline writes the Application's entry. Without skip-reconcile, the hub's own Argo CD writes
// the entry.
func shown(app *argocd.Application) bool { return app.Pulled() && app.ReconcileSkipped() }

// show writes the view to the entry if necessary, and returns when to reconcile again. asked is true if argocd-server
// may miss the entry.
func (r *Reconciler) show(ctx context.Context, key types.NamespacedName, v *view, asked bool) (time.Duration, error) {
	lasts := expiry
	if v.live || v.unsure {
		lasts = liveExpiry
	}
	data := v.entry()
	digest := sha256.Sum256(data)
	known := r.memory.get(key)
	same := known.digest == digest
	if fresh := time.Until(known.at.Add(lasts / renewals)); same && fresh > 0 && !asked {
		return fresh, nil
	}
	if err := r.write(ctx, key, data, same, lasts); err != nil {
		return 0, err
	}
	r.outage.ended(ctx)
	r.memory.remember(key, entry{digest: digest, at: time.Now()})
	return wait.Jitter(lasts/renewals, 0.1), nil
}

// write renews an unchanged entry. If the entry has changed or is missing in Redis, write stores the entry.
func (r *Reconciler) write(ctx context.Context, key types.NamespacedName, data []byte, same bool, lasts time.Duration) error {
	plain, err := r.Store.Plain(ctx)
	if err != nil {
		return err
	}
	place := tree.Key(key, r.Home, !plain)
	if same {
		if there, err := r.Store.Renew(ctx, place, lasts); there || err != nil {
			return err
		}
	}
	if !plain {
		data = tree.Compress(data)
	}
	if err := r.Store.Set(ctx, place, tree.Channel(key, r.Home), data, lasts); err != nil {
		return err
	}
	written.WithLabelValues("set").Inc()
	return nil
}

// end removes the entry, if this process wrote the entry.
func (r *Reconciler) end(ctx context.Context, key types.NamespacedName) error {
	if r.memory.get(key) == (entry{}) {
		return nil
	}
	plain, err := r.Store.Plain(ctx)
	if err != nil {
		return err
	}
	if err := r.Store.Remove(ctx, tree.Key(key, r.Home, !plain), tree.Channel(key, r.Home)); err != nil {
		return err
	}
	written.WithLabelValues("delete").Inc()
	r.outage.ended(ctx)
	r.memory.forget(key)
	return nil
}
