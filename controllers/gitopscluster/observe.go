package gitopscluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// observation has the observed facts about a GitOpsCluster, and the reader. The objects belong to the cache: do not
// change them.
type observation struct {
	clusterimport.Facts

	// key is the name of the GitOpsCluster, even if the GitOpsCluster does not exist.
	key types.NamespacedName

	// reader reads from the cache or past the cache.
	reader client.Reader
}

// observe reads the facts for most decisions about a GitOpsCluster. All facts come from caches, except for the Lease of
// the older controller.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (seen *observation, err error) {
	seen = &observation{key: key, reader: r.Client}
	seen.Pruned, seen.StoodBack = r.pruned.Load(), r.stood.of(key)
	seen.Now, seen.Argos = time.Now(), map[string]*clusterimport.Argo{}
	seen.Rotation = clusterimport.RotationAt(seen.Now)
	if seen.GitOpsCluster, err = hub.Get(ctx, r.Client, key, &v1beta1.GitOpsCluster{}); err != nil {
		return nil, err
	}
	if seen.GitOpsCluster == nil {
		r.forget(key)
		return seen, nil
	}
	if err := seen.observeChoice(ctx); err != nil {
		return nil, err
	}
	if err := r.observeOlder(ctx, seen); err != nil {
		return nil, err
	}
	if err := r.observeConsenting(ctx, seen); err != nil {
		return nil, err
	}
	if err := seen.observeFound(ctx, r.scopes.argos(ctx)); err != nil {
		return nil, err
	}
	for _, namespace := range seen.Namespaces() {
		if err := r.observeArgo(ctx, seen, namespace); err != nil {
			return nil, err
		}
	}
	if err := seen.observeOthers(ctx); err != nil {
		return nil, err
	}
	if err := r.observeChosen(ctx, seen); err != nil {
		return nil, err
	}
	if err := r.observeTokens(ctx, seen); err != nil {
		return nil, err
	}
	seen.Since = r.dropped.note(key, seen.Dropped(), seen.Now)
	return seen, nil
}

// observeChoice reads the decisions of the Placement, and the consent of the Argo CD's namespace.
func (seen *observation) observeChoice(ctx context.Context) (err error) {
	seen.Placement, seen.Decisions, seen.Consent, seen.Permitted = nil, nil, false, nil
	g := seen.GitOpsCluster
	if name := seen.ArgoNamespace(); name != "" {
		ns, err := settings.ReadCluster(ctx, seen.reader, name)
		if err != nil {
			return err
		}
		if ns != nil {
			seen.Consent = ns.Labels[apis.LabelArgoNamespace] == "true"
			seen.Permitted = clusterimport.ReadAccounts(ns.Annotations[apis.AnnotationGitOpsAccounts])
		}
	}
	key := clusterimport.PlacementKey(g)
	if key.Name == "" {
		return nil
	}
	if seen.Placement, err = hub.Get(ctx, seen.reader, key, &clusterv1beta1.Placement{}); err != nil {
		return err
	}
	list := &clusterv1beta1.PlacementDecisionList{}
	ofPlacement := client.MatchingLabels{clusterv1beta1.PlacementLabel: key.Name}
	err = seen.reader.List(ctx, list, client.InNamespace(key.Namespace), ofPlacement, client.UnsafeDisableDeepCopy)
	seen.Decisions = list.Items
	return err
}

// observeArgo reads the cluster Secrets and the generator's objects of the Argo CD in a namespace.
func (r *Reconciler) observeArgo(ctx context.Context, seen *observation, namespace string) error {
	cached, err := r.scopes.open(ctx, clusterSecretsIn(namespace))
	if apierrors.IsForbidden(err) {
		seen.Argos[namespace] = &clusterimport.Argo{Forbidden: true}
		return nil
	}
	if err != nil {
		return err
	}
	list := &corev1.SecretList{}
	if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	secrets := make([]*corev1.Secret, len(list.Items))
	for i := range list.Items {
		secrets[i] = &list.Items[i]
	}
	argo := clusterimport.NewArgo(secrets)
	seen.Argos[namespace] = argo
	config, err := r.scopes.open(ctx, configIn(namespace, clusterimport.GeneratorConfigACM))
	if apierrors.IsForbidden(err) {
		seen.Argos[namespace] = &clusterimport.Argo{Forbidden: true}
		return nil
	}
	if err != nil {
		return err
	}
	for _, obj := range clusterimport.GeneratorObjects(namespace) {
		existing, from := obj.DeepCopyObject().(clusterimport.Object), cached
		if obj.GetName() == clusterimport.GeneratorConfigACM {
			from = config
		}
		err := from.Get(ctx, client.ObjectKeyFromObject(obj), existing)
		if err == nil {
			argo.Generator = append(argo.Generator, existing)
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	all := &v1beta1.GitOpsClusterList{}
	if err := r.List(ctx, all, client.MatchingFields{byArgoNamespace: namespace}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	argo.Shared = seen.isShared(namespace, all.Items)
	return nil
}

// isShared reports whether a second GitOpsCluster, not in deletion, names the Argo CD of a namespace.
func (seen *observation) isShared(namespace string, all []v1beta1.GitOpsCluster) bool {
	for i := range all {
		g := &all[i]
		if g.UID != seen.GitOpsCluster.UID && g.DeletionTimestamp.IsZero() && g.Spec.ArgoServer.ArgoNamespace == namespace {
			return true
		}
	}
	return false
}

// observeOthers reads the remaining GitOpsClusters that want the same Secrets.
func (seen *observation) observeOthers(ctx context.Context) (err error) {
	seen.Others = map[types.NamespacedName]*v1beta1.GitOpsCluster{}
	for _, key := range seen.Wanted() {
		if seen.Others[key], err = hub.Get(ctx, seen.reader, key, &v1beta1.GitOpsCluster{}); err != nil {
			return err
		}
	}
	return nil
}

// observeChosen reads the chosen ManagedClusters.
func (r *Reconciler) observeChosen(ctx context.Context, seen *observation) error {
	seen.Clusters = map[string]*clusterv1.ManagedCluster{}
	for _, name := range seen.Chosen() {
		c, err := hub.Get(ctx, r.Client, types.NamespacedName{Name: name}, &clusterv1.ManagedCluster{})
		if err != nil {
			return err
		}
		annotations, err := settings.ClusterAnnotations(ctx, r, name)
		if err != nil {
			return err
		}
		if c != nil {
			seen.Clusters[name] = clustersecret.WithServer(c, annotations[apis.AnnotationServer])
		}
	}
	return nil
}

// observeTokens reads the tokens of the ManagedServiceAccounts for the Secrets.
func (r *Reconciler) observeTokens(ctx context.Context, seen *observation) error {
	seen.Tokens = map[string]clusterimport.Tokens{}
	for _, account := range seen.Accounts() {
		cached, err := r.scopes.open(ctx, tokenSecretsOf(account))
		if apierrors.IsForbidden(err) {
			seen.Tokens[account] = clusterimport.Tokens{Forbidden: true}
			continue
		}
		if err != nil {
			return err
		}
		list := &corev1.SecretList{}
		if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		tokens := clusterimport.Tokens{Secrets: make(map[string]*corev1.Secret, len(list.Items))}
		for i := range list.Items {
			tokens.Secrets[list.Items[i].Namespace] = &list.Items[i]
		}
		seen.Tokens[account] = tokens
	}
	return nil
}
