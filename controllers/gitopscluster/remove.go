package gitopscluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// manner is what becomes of a Secret that nobody wants and that cannot go yet, because Applications target its cluster.
type manner int

const (
	// asItIs changes nothing: its GitOpsCluster is being deleted, which says nothing about the Applications.
	asItIs manner = iota

	// leaving takes the labels of its cluster off, so that generators that select by them let go of it.
	leaving

	// revoked takes the credentials out as well: the right to import was withdrawn.
	revoked
)

// prune removes the Secrets of clusters that are no longer chosen. That they are not, the API server itself must say, and
// it must have been so for a while: a Placement passes over what it lacks an object for.
func (r *Reconciler) prune(ctx context.Context, g *v1beta1.GitOpsCluster, chosen *selection, a *argo, o *outcome) error {
	left := func(s *selection) []*corev1.Secret {
		return slices.DeleteFunc(a.owned(client.ObjectKeyFromObject(g)), func(secret *corev1.Secret) bool {
			return s.has(clustersecret.Cluster(secret))
		})
	}
	grace, candidates := cmp.Or(r.Grace, DefaultGrace), left(chosen)
	if !chosen.settled {
		r.dropped.forget(client.ObjectKeyFromObject(g))
		if len(candidates) > 0 {
			o.unsettled(len(candidates), grace)
			return nil
		}
	}
	due, wait := r.dropped.due(client.ObjectKeyFromObject(g), candidates, grace, time.Now())
	if len(candidates) == 0 {
		o.holds(a.namespace, nil)
		r.pushers.set(pusherKey{client.ObjectKeyFromObject(g), a.namespace}, nil)
		return nil
	}
	if wait > 0 {
		o.look(wait)
	}
	if len(due) == 0 {
		o.unsettled(len(candidates), grace)
		return nil
	}
	if err := r.confirm(ctx, g); err != nil {
		return err
	}
	now, err := r.choose(ctx, r.Live, g)
	if isFailure(err) {
		return err
	}
	if now == nil || !now.settled {
		o.unsettled(len(candidates), grace)
		return nil
	}
	gone := slices.DeleteFunc(left(now), func(s *corev1.Secret) bool { return !due[clustersecret.Cluster(s)] })
	return r.removeAll(ctx, g, a.namespace, gone, leaving, o)
}

// withdraw removes all Secrets in namespaces that the GitOpsCluster does not name any more, or may not.
func (r *Reconciler) withdraw(ctx context.Context, g *v1beta1.GitOpsCluster, o *outcome, namespaces []string) error {
	if len(namespaces) == 0 {
		return nil
	}
	if err := r.confirm(ctx, g); err != nil {
		return err
	}
	for _, namespace := range namespaces {
		if namespace == g.Spec.ArgoServer.ArgoNamespace {
			if open, err := labelled(ctx, r.Live, namespace); err != nil || open {
				return errors.Join(err, errStale)
			}
		}
		if err := r.leave(ctx, g, namespace, revoked, o); err != nil {
			return err
		}
	}
	return nil
}

// leave removes all Secrets that a GitOpsCluster has in a namespace.
func (r *Reconciler) leave(ctx context.Context, g *v1beta1.GitOpsCluster, namespace string, how manner, o *outcome) error {
	a, err := r.load(ctx, namespace)
	if problem, ok := errors.AsType[*Problem](err); ok {
		o.stuck(problem)
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.removeAll(ctx, g, namespace, a.owned(client.ObjectKeyFromObject(g)), how, o); err != nil {
		return err
	}
	if len(o.held[namespace]) > 0 {
		return nil
	}
	o.gone = append(o.gone, namespace)
	return r.removeGenerator(ctx, g, namespace)
}

// confirm returns an error unless the GitOpsCluster is as the cache has it.
func (r *Reconciler) confirm(ctx context.Context, g *v1beta1.GitOpsCluster) error {
	live := &v1beta1.GitOpsCluster{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(g), live)
	if err == nil && (live.UID != g.UID || live.Generation != g.Generation) {
		return errStale
	}
	return err
}

// removeAll removes Secrets on behalf of a GitOpsCluster, and notes which have to stay.
func (r *Reconciler) removeAll(
	ctx context.Context, g *v1beta1.GitOpsCluster, namespace string, secrets []*corev1.Secret, how manner, o *outcome,
) error {
	owner := client.ObjectKeyFromObject(g)
	var held []heldSecret
	var clusters []string
	for _, s := range secrets {
		clusters = append(clusters, clustersecret.Cluster(s))
	}
	r.held.add(owner, clusters) // before the Applications are looked for, so that the end of none is missed
	key := pusherKey{owner, namespace}
	users := &users{r: r, last: r.pushers.get(key), now: map[string]types.NamespacedName{}}
	var errs []error
	for _, s := range secrets {
		app, isPushed, err := r.removeOne(ctx, owner, s, how, users)
		if isPushed {
			o.look(pushedAgain)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("remove Secret %s/%s: %w", s.Namespace, s.Name, err))
		case app != nil:
			held = append(held, heldSecret{secret: s, application: *app})
		default:
			o.deleted = append(o.deleted, clustersecret.Cluster(s))
		}
	}
	r.pushers.set(key, users.now)
	o.holds(namespace, held)
	return errors.Join(errs...)
}

// removeOne removes a GitOpsCluster's want of a Secret, and the Secret with the last one. It returns an Application
// that targets the cluster when the Secret has to stay for it, and whether that is pushed there.
func (r *Reconciler) removeOne(
	ctx context.Context, owner types.NamespacedName, s *corev1.Secret, how manner, users *users,
) (*types.NamespacedName, bool, error) {
	without, last, err := r.leaveTo(ctx, s, owner)
	if err != nil {
		return nil, false, err
	}
	if !last {
		return nil, false, r.patch(ctx, s, without)
	}
	app, isPushed, err := users.of(ctx, s)
	switch {
	case err != nil:
		return nil, false, err
	case app == nil:
		return nil, false, r.delete(ctx, s)
	}
	if after, changed := clustersecret.Leaving(s, how == revoked); changed && how != asItIs {
		err = r.patch(ctx, s, after)
	}
	return app, isPushed, err
}

// leaveTo is a Secret as it is without an owner, and whether none is left. Owners that do not exist any more are left
// out: one whose finalizer was taken off by hand would keep the Secret for ever.
func (r *Reconciler) leaveTo(ctx context.Context, s *corev1.Secret, owner types.NamespacedName) (*corev1.Secret, bool, error) {
	out, last := clustersecret.Leave(s, owner)
	for _, other := range clustersecret.Owners(out) {
		err := r.Live.Get(ctx, other, &v1beta1.GitOpsCluster{})
		if gone.Is(err) {
			out, last = clustersecret.Leave(out, other)
		} else if err != nil {
			return nil, false, err
		}
	}
	return out, last, nil
}

// delete deletes exactly this Secret, as it was looked at.
func (r *Reconciler) delete(ctx context.Context, s *corev1.Secret) error {
	err := r.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	secretWrites.WithLabelValues("delete").Inc()
	return nil
}

// heldSecret is a Secret that stays for the sake of an Application.
type heldSecret struct {
	secret      *corev1.Secret
	application types.NamespacedName
}

func (h heldSecret) String() string {
	return fmt.Sprintf("Secret %s/%s for Application %s", h.secret.Namespace, h.secret.Name, h.application)
}

// remaining says what stays and why.
func remaining(held []heldSecret) string {
	names := make([]string, len(held))
	for i, h := range held {
		names[i] = h.String()
	}
	return fmt.Sprintf("%s no longer wanted but still targeted by Applications: kept %s. A Secret goes with the last Application of "+
		"its cluster; where that is made from the Secret itself, delete the Secret", count(len(held)), some(names))
}
