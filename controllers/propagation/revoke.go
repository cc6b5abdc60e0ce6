package propagation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/grants"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// behind is how long to wait when the cache does not have yet what the API server has: the change itself wakes the
// Application, unless it is one that does not.
const behind = time.Second

// revoke takes an Application off the clusters where a rule says that it may not be, by what each of its works carries: what
// the Application asks for now may be a slip, and does not run anywhere. Where the object is missing that would let it be
// there, nobody has said no, and the work stays as it is.
//
// It comes before all that lets go of a work: a release, or a label that is taken off, does not keep what loses its right. Other
// wishes of the Application's author go on until the removal begins: its deletion, and a change by which it may be there again.
// It returns what to tell beside those, and an error where nothing else is to be done.
func (r *Reconciler) revoke(ctx context.Context, app *argocd.Application) (out revocation, err error) {
	if !r.Revocation.Delete {
		return out, nil
	}
	works, err := r.everywhere(ctx, app)
	if err != nil {
		return out, err
	}
	r.revocations.retain(client.ObjectKeyFromObject(app), works)
	var stops *Problem
	for i := range works {
		w := &works[i]
		said, err := r.revokeWork(ctx, app, w)
		if err != nil {
			return out, err
		}
		own := isSent(app) && work.Key(app) == client.ObjectKeyFromObject(w)
		switch {
		case said.problem == nil:
		case said.kept && own:
			out.kept = said.problem
		case said.kept: // its Application is to be elsewhere
		case !said.begun && (isSent(app) || isRemoved(app)), said.begun && !own && (isSent(app) || isForced(app)):
			out.pending = together(out.pending, said.problem)
		default:
			stops = together(stops, said.problem)
		}
	}
	if stops != nil {
		return out, together(stops, out.pending)
	}
	return out, nil
}

// revocation is what to tell of the works that an Application has lost the right to.
type revocation struct {
	// pending is that they go, or why not yet; nil for nothing.
	pending *Problem

	// kept is why its own work stays as it is, where that cannot be brought up to date; nil for nothing.
	kept *Problem
}

// isRemoved tells whether the Application is being deleted, and is to be let go of by no release.
func isRemoved(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && !app.DeletionTimestamp.IsZero() && !app.ToBeReleased() && app.Cluster() != ""
}

// isForced tells whether the same holds, and its clusters are not to be waited for.
func isForced(app *argocd.Application) bool { return isRemoved(app) && app.ToBeForced() }

// isSent tells whether the Application asks for a work, rather than for the end of those that it has.
func isSent(app *argocd.Application) bool {
	return app.Pulled() && app.DeletionTimestamp.IsZero() && !app.ToBeReleased() && checkApplication(app) == nil
}

// everywhere are all works of an Application, its own among them even if it has lost its annotations.
func (r *Reconciler) everywhere(ctx context.Context, app *argocd.Application) ([]workv1.ManifestWork, error) {
	works, err := r.works(ctx, client.ObjectKeyFromObject(app))
	if err != nil || !canBeSomewhere(app) {
		return works, err
	}
	own, err := r.existing(ctx, app)
	if err != nil || own == nil || !work.Carries(own, app) ||
		slices.ContainsFunc(works, func(w workv1.ManifestWork) bool { return w.UID == own.UID }) {
		return works, err
	}
	return append(works, *own.DeepCopy()), nil
}

// revoked is what becomes of a work that its Application has lost the right to.
type revoked struct {
	// problem is what to tell; nil for nothing.
	problem *Problem

	// kept tells that it stays as it is, for want of somebody who says no.
	kept bool

	// begun tells that its removal has begun.
	begun bool
}

// revokeWork takes the Application off one cluster, once a rule has refused it for long enough. The cache may be behind with
// any of the objects that decide, and a workload is at stake: all of them are read anew then, and one that cannot be read
// keeps it.
func (r *Reconciler) revokeWork(ctx context.Context, app *argocd.Application, w *workv1.ManifestWork) (revoked, error) {
	key := client.ObjectKeyFromObject(app)
	if !w.DeletionTimestamp.IsZero() {
		r.revocations.forget(key, w.UID)
		return revoked{}, nil
	}
	refusal, err := refusedThere(ctx, r.Client, r.Grants, app, w)
	if err != nil || refusal == nil || refusal.Missing != "" {
		r.revocations.forget(key, w.UID)
		return revoked{problem: frozen(w, refusal), kept: true}, err
	}
	options := r.Revocation.withDefaults()
	turn, since := r.revocations.judge(key, w.UID, time.Now(), options)
	switch turn {
	case held:
		return revoked{problem: heldBack(w, refusal, options.Limit)}, nil
	case inGrace:
		return revoked{problem: announced(w, refusal, since.Add(options.Grace))}, nil
	case due:
	}
	now, live := &argocd.Application{}, &workv1.ManifestWork{}
	if err := r.Live.Get(ctx, key, now); err != nil {
		return revoked{}, client.IgnoreNotFound(err)
	}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(w), live); err != nil {
		return revoked{}, client.IgnoreNotFound(err)
	}
	if now.UID != app.UID || live.UID != w.UID {
		return revoked{}, waiting(behind)
	}
	refusal, err = refusedThere(ctx, r.Live, r.Grants.Past(r.Live), now, live)
	if err != nil {
		return revoked{}, err
	}
	if refusal == nil || refusal.Missing != "" {
		r.revocations.forget(key, w.UID)
		return revoked{}, waiting(behind)
	}
	return r.takeBack(ctx, now, live, refusal)
}

// takeBack asks for the deletion of a work that may not be where it is.
func (r *Reconciler) takeBack(
	ctx context.Context, app *argocd.Application, w *workv1.ManifestWork, refusal *authorization.Refusal,
) (revoked, error) {
	if paused, err := r.Pauses.Cluster(ctx, w.Namespace); err != nil || paused {
		return revoked{}, err // its end wakes the Application
	}
	asked, err := r.remove(ctx, app, w, true)
	if p, is := errors.AsType[*Problem](err); is {
		return revoked{problem: p, begun: true}, nil
	}
	if err != nil {
		return revoked{}, err
	}
	if !asked {
		p := forbidden(refusal)
		p.Message = "being taken off cluster " + w.Namespace + ": " + p.Message
		return revoked{problem: p, begun: true}, nil
	}
	r.revocations.ask(client.ObjectKeyFromObject(app), w.UID, time.Now())
	r.Events.Eventf(app, w, corev1.EventTypeWarning, apis.ReasonRevoked, "Revoke",
		"cluster %s was asked to remove the Application, which may not be there any more: %s", w.Namespace, refusal.Message)
	return revoked{}, nil
}

// frozen is what to tell of a work that stays as it is for want of an object; nil where there is no refusal.
func frozen(w *workv1.ManifestWork, refusal *authorization.Refusal) *Problem {
	if refusal == nil {
		return nil
	}
	p := forbidden(refusal)
	p.Message = fmt.Sprintf("cluster %s keeps what it has, as it is, since nothing is removed for what is missing: %s",
		w.Namespace, refusal.Missing)
	return p
}

// announced is what to tell of a work that goes at that time if nothing changes.
func announced(w *workv1.ManifestWork, refusal *authorization.Refusal, when time.Time) *Problem {
	p := forbidden(refusal)
	p.Message = fmt.Sprintf("cluster %s is asked to remove the Application at %s, unless it may be there again by then: %s",
		w.Namespace, when.UTC().Format(time.RFC3339), refusal.Message)
	p.cause = waiting(max(time.Until(when), time.Millisecond))
	return p
}

// heldBack is what to tell of a work that stays because too many would go at a time.
func heldBack(w *workv1.ManifestWork, refusal *authorization.Refusal, limit int) *Problem {
	p := forbidden(refusal)
	p.Reason = apis.ReasonRevocationHeld
	p.Message = fmt.Sprintf("cluster %s keeps it as it is: more than %d Applications lost their right at a time, and all of them are held "+
		"until each has it back. To let go of those that are to go, delete them, or raise Towline's --revocation-limit: %s",
		w.Namespace, limit, refusal.Message)
	return p
}

// withDefaults are the options with what they stand for.
func (o RevocationOptions) withDefaults() RevocationOptions {
	o.Grace = cmp.Or(o.Grace, DefaultRevocationGrace)
	o.Limit = cmp.Or(o.Limit, DefaultRevocationLimit)
	return o
}

// refusedThere is the refusal of what a work carries, on the cluster that it is for; nil when it may be there. Of a
// work that carries a request, or what cannot be read, only the place is known. Nothing is refused on a cluster that
// does not exist.
func refusedThere(
	ctx context.Context, c client.Reader, grants *grants.Checker, app *argocd.Application, w *workv1.ManifestWork,
) (*authorization.Refusal, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Name: w.Namespace}, cluster); gone.Is(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	there := work.At(app, w)
	var request *authorization.Request
	if carried, ok := work.Carried(w); ok {
		there.Annotations[apis.AnnotationAppNamespace] = carried.Namespace
		if read, err := authorization.ReadSpec(carried); err == nil {
			request = &read
		}
	}
	return grants.CheckSent(ctx, there, request, cluster, w.Annotations[apis.AnnotationGrantedBy])
}
