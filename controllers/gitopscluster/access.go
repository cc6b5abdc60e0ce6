package gitopscluster

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// allowed returns a Problem when a GitOpsCluster may not give clusters to the Argo CD that it names: then its author
// could write into a namespace that is not the author's.
func (r *Reconciler) allowed(ctx context.Context, g *v1beta1.GitOpsCluster) error {
	name := g.Spec.ArgoServer.ArgoNamespace
	if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
		return problemf(apis.ReasonArgoNamespaceInvalid,
			"spec.argoServer.argoNamespace: %.80q cannot be a namespace: %s", name, strings.Join(errs, "; "))
	}
	open, err := labelled(ctx, r.Client, name)
	if err != nil || open || name == g.Namespace {
		return err
	}
	return problemf(apis.ReasonArgoNamespaceNotAllowed,
		"spec.argoServer.argoNamespace is %s, another namespace than the GitOpsCluster's own: an administrator may allow that "+
			"with kubectl label namespace %s %s=true", name, name, apis.LabelArgoNamespace)
}

// labelled tells whether a namespace is there and open for GitOpsClusters of others.
func labelled(ctx context.Context, from client.Reader, name string) (bool, error) {
	ns := hubside.Namespace()
	err := from.Get(ctx, types.NamespacedName{Name: name}, ns)
	return err == nil && ns.Labels[apis.LabelArgoNamespace] == "true", client.IgnoreNotFound(err)
}

// load is what the Argo CD of a namespace has, or a Problem when Towline may not see that.
func (r *Reconciler) load(ctx context.Context, namespace string) (*argo, error) {
	secrets, err := r.scopes.open(ctx, clusterSecretsIn(namespace))
	if apierrors.IsForbidden(err) {
		return nil, problemf(apis.ReasonArgoNamespaceForbidden,
			"Towline has no rights to the cluster Secrets of namespace %s: an administrator may give them with a RoleBinding "+
				"there to the ClusterRole towline-gitopscluster", namespace).because(err)
	}
	if err != nil {
		return nil, err
	}
	list := &corev1.SecretList{}
	if err := secrets.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return newArgo(namespace, list.Items), nil
}
