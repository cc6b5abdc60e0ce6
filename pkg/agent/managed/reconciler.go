package managed

import (
	"bytes"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

const (
	// renewal is the time between two renewals of an entry. The hub's entry lives for an hour.
	renewal = 20 * time.Minute

	// absentAgain is the time until the next request about an Application that the hub does not deliver. busyAgain is the
	// same for a busy hub.
	absentAgain = 2 * time.Minute
	busyAgain   = 5 * time.Second
)

// reconciler sends the managed resources of an Application.
type reconciler struct {
	Options

	cluster client.Reader
	redis   *argocache.Redis
	hub     *hub

	sent     memory
	ofHub    outage
	ofRedis  outage
	renewals time.Duration
}

// Reconcile sends the managed resources of the named Application, unless the hub has the same content.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &argocd.Application{}
	if err := r.cluster.Get(ctx, req.NamespacedName, app); err != nil {
		r.sent.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	work, err := r.Work(ctx, app)
	if work == "" || err != nil {
		r.sent.forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if left := max(r.ofHub.left(), r.ofRedis.left()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	entry, compressed, err := r.read(ctx, req.NamespacedName)
	r.ofRedis.note(ctx, err)
	if err != nil {
		return ctrl.Result{RequeueAfter: r.ofRedis.left()}, nil //nolint:nilerr // the pause replaces the retry
	}
	return r.result(ctx, r.update(ctx, req.NamespacedName, work, entry, compressed))
}

// read returns the entry in the cluster's Redis; nil for none.
func (r *reconciler) read(ctx context.Context, app types.NamespacedName) (entry []byte, compressed bool, err error) {
	plain, err := r.redis.Plain(ctx)
	if err != nil {
		return nil, false, err
	}
	entry, err = r.redis.Get(ctx, tree.ManagedResourcesKey(app, r.Home, !plain))
	return entry, !plain, err
}

// result returns when to reconcile again.
func (r *reconciler) result(ctx context.Context, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		r.ofHub.note(ctx, nil)
		return ctrl.Result{RequeueAfter: wait.Jitter(r.renewals, 0.1)}, nil
	case errors.Is(err, errAbsent):
		return ctrl.Result{RequeueAfter: wait.Jitter(absentAgain, 1)}, nil
	case errors.Is(err, errBusy):
		return ctrl.Result{RequeueAfter: wait.Jitter(busyAgain, 1)}, nil
	}
	requests.WithLabelValues("failed").Inc()
	r.ofHub.note(ctx, err)
	return ctrl.Result{RequeueAfter: r.ofHub.left()}, nil
}

// update gives the hub the entry of a work's Application.
func (r *reconciler) update(ctx context.Context, app types.NamespacedName, work string, entry []byte, compressed bool) error {
	known, now := r.sent.get(app, work), sent{work: work, entry: digest(entry)}
	same := known.entry == now.entry
	if same && time.Since(known.at) < r.renewals {
		return nil
	}
	if same && known.body != "" {
		now.body = known.body
		if err := r.hub.renew(ctx, work, now.body); !errors.Is(err, errUnknown) {
			return r.note(app, now, "renewed", err)
		}
	}
	if len(entry) == 0 {
		return r.note(app, now, "removed", r.hub.remove(ctx, work, managedresources.ReasonNoEntryOnCluster))
	}
	body, err := managedresources.Copy(bytes.NewReader(entry), compressed, true)
	if err != nil {
		return r.refuse(ctx, app, now, err)
	}
	now.body = managedresources.DigestOf(body)
	if known == (sent{}) { // an earlier process may have sent the entry
		if err := r.hub.renew(ctx, work, now.body); !errors.Is(err, errUnknown) {
			return r.note(app, now, "renewed", err)
		}
	}
	err = r.hub.put(ctx, work, body)
	if errors.Is(err, errRefused) {
		return r.refuse(ctx, app, now, err)
	}
	return r.note(app, now, "written", err)
}

// refuse removes the former entry of an Application whose present entry the hub does not take.
func (r *reconciler) refuse(ctx context.Context, app types.NamespacedName, now sent, why error) error {
	ctrl.LoggerFrom(ctx).Info("The hub gets no managed resources of the Application", "because", why.Error())
	now.body = ""
	return r.note(app, now, "refused", r.hub.remove(ctx, now.work, reasonOf(why)))
}

// reasonOf returns the reason of an entry that Copy or the hub does not take.
func reasonOf(err error) managedresources.Reason {
	switch {
	case errors.Is(err, managedresources.ErrTooLarge):
		return managedresources.ReasonTooLarge
	case errors.Is(err, errFull):
		return managedresources.ReasonFull
	}
	return managedresources.ReasonInvalid
}

// note remembers the state of the hub, unless the request failed.
func (r *reconciler) note(app types.NamespacedName, now sent, result string, err error) error {
	if err != nil {
		return err
	}
	requests.WithLabelValues(result).Inc()
	now.at = time.Now()
	r.sent.set(app, now)
	return nil
}

// digest returns the digest of an entry; empty for no entry.
func digest(entry []byte) string {
	if len(entry) == 0 {
		return ""
	}
	return managedresources.DigestOf(entry)
}
