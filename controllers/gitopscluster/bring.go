package gitopscluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// bring makes the Secrets of the chosen clusters say what they should. One cluster's trouble is noted, and does not
// stop the others.
func (r *Reconciler) bring(ctx context.Context, g *v1beta1.GitOpsCluster, chosen *selection, a *argo, o *outcome) error {
	var changes []change
	var errs []error
	there := map[string]bool{}
	for _, name := range chosen.clusters {
		c, err := r.plan(ctx, g, a, name)
		if problem, ok := errors.AsType[*Problem](err); ok {
			o.trouble(name, problem)
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		there[name] = a.mine[name] != nil || c != nil
		if c != nil {
			changes = append(changes, *c)
		}
	}
	failed, err := r.write(ctx, changes, o)
	for _, name := range failed {
		there[name] = there[name] && a.mine[name] != nil
	}
	o.brought(there)
	return errors.Join(append(errs, err)...)
}

// plan is what has to be written for a cluster; nil when nothing. With a Problem it is what can be written all the same.
func (r *Reconciler) plan(ctx context.Context, g *v1beta1.GitOpsCluster, a *argo, name string) (*change, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := r.Get(ctx, types.NamespacedName{Name: name}, cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, problemf(apis.ReasonClusterNotFound,
			"the Placement has chosen %s, and there is no such ManagedCluster: is it being detached?", name)
	}
	if err != nil {
		return nil, err
	}
	annotations, err := hubside.Annotations(ctx, r, name)
	if err != nil {
		return nil, err
	}
	cluster = clustersecret.At(cluster, annotations[apis.AnnotationServer])
	existing, conflict := a.mine[name], a.conflict(cluster)
	if conflict != nil && existing == nil {
		return nil, conflict
	}
	i := clustersecret.Import{Cluster: cluster, Owner: client.ObjectKeyFromObject(g), Claims: r.Claims}
	err = r.complete(ctx, g, a, existing, &i)
	if isFailure(err) || err != nil && existing == nil {
		return nil, err
	}
	if conflict != nil {
		err = conflict
	}
	if existing == nil {
		return &change{cluster: name, after: clustersecret.New(a.namespace, i)}, nil
	}
	if after, changed := clustersecret.Update(existing, i); changed {
		return &change{cluster: name, before: existing, after: after}, err
	}
	return nil, err
}

// complete fills in the address and the credentials. With a Problem the Secret keeps the credentials that it has, and
// one without any is not made.
func (r *Reconciler) complete(
	ctx context.Context, g *v1beta1.GitOpsCluster, a *argo, existing *corev1.Secret, i *clustersecret.Import,
) error {
	name := i.Cluster.Name
	w, decides, err := r.wishFor(ctx, g, existing)
	if err != nil {
		return err
	}
	var usable bool
	i.Server, usable = a.server(i.Cluster)
	i.Blank = w.blank
	if w.account == "" {
		return nil
	}
	if !usable {
		i.Keep = true
		return problemf(apis.ReasonServerUnknown,
			"ManagedCluster %s has no address in spec.managedClusterClientConfigs that is https and no other cluster's: "+
				"an Argo CD that pushes needs one: give it in the annotation %s of Namespace %s", name, apis.AnnotationServer, name)
	}
	if i.Credentials, err = r.tokensOf(ctx, a, w.account).credentials(ctx, name, w.account); err != nil {
		i.Keep = true
		return err
	}
	if mine := wishOf(g).account; mine != "" && mine != w.account {
		return problemf(apis.ReasonCredentialsConflict,
			"GitOpsCluster %s imports %s with ManagedServiceAccount %s, which comes first: use the same one in both", decides, name, w.account)
	}
	return nil
}
