package gitopscluster

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clusterimport"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=multicloud-operators-gitopscluster-leader.open-cluster-management.io,verbs=get

// leaseInterval is how long the last read of the older controller's Lease is valid. A status written by the older
// controller ends this time.
const leaseInterval = time.Minute

// observeOlder reads whether the older controller of GitOpsClusters runs. Without the right to read the Lease, the
// older controller's marks on the GitOpsCluster decide.
func (r *Reconciler) observeOlder(ctx context.Context, seen *observation) error {
	if lease, at := r.older.last(); !seen.Live && !clusterimport.IsOlders(seen.GitOpsCluster) && seen.Now.Sub(at) < leaseInterval {
		seen.Lease = lease
		return nil
	}
	lease, err := hub.Get(ctx, r.Live, clusterimport.OlderLease, &coordinationv1.Lease{})
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	r.older.set(lease, seen.Now)
	seen.Lease = lease
	return nil
}

// observeFound finds the namespaces with Secrets of the GitOpsCluster, among the open caches of Argo CDs. The
// annotation of the GitOpsCluster may have lost a namespace.
func (seen *observation) observeFound(ctx context.Context, argos map[string]client.Reader) error {
	for namespace, cached := range argos {
		list := &corev1.SecretList{}
		err := cached.List(ctx, list, client.MatchingFields{byOwner: seen.key.String()}, client.Limit(1), client.UnsafeDisableDeepCopy)
		if err != nil {
			return err
		}
		if len(list.Items) > 0 {
			seen.Found = append(seen.Found, namespace)
		}
	}
	return nil
}

// observeConsenting opens the caches of all Argo CDs with consent, if the GitOpsCluster has lost its annotation.
func (r *Reconciler) observeConsenting(ctx context.Context, seen *observation) error {
	if marks := clusterimport.Marked(seen.GitOpsCluster); !marks.Finalizer || len(marks.Namespaces) > 0 {
		return nil
	}
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.List(ctx, all, client.MatchingLabels{apis.LabelArgoNamespace: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range all.Items {
		if _, err := r.scopes.open(ctx, clusterSecretsIn(all.Items[i].Name)); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}
