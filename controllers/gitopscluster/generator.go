package gitopscluster

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

const (
	// generatorConfig is the ConfigMap that a clusterDecisionResource generator names as its configMapRef.
	generatorConfig = "ocm-placement-generator"

	// generatorRole is the Role, and its RoleBinding, by which the ApplicationSet controller may read decisions.
	generatorRole = "ocm-placement-consumer"
)

// generatorObjects are what the clusterDecisionResource generator needs in the namespace of its Argo CD. The right is
// for all ServiceAccounts there: what an installation calls that of its ApplicationSet controller cannot be known, and
// the names of the chosen clusters are no secret to an Argo CD that has their Secrets.
func generatorObjects(namespace string) []client.Object {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{apis.LabelGenerator: "true"}}
	}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: named(generatorConfig), Data: map[string]string{
			"apiVersion": clusterv1beta1.GroupVersion.String(), "kind": "placementdecisions",
			"statusListKey": "decisions", "matchKey": "clusterName",
		}},
		&rbacv1.Role{ObjectMeta: named(generatorRole), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{clusterv1beta1.GroupVersion.Group}, Resources: []string{"placementdecisions"}, Verbs: []string{"list"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: named(generatorRole),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: generatorRole},
			Subjects: []rbacv1.Subject{{
				APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + namespace,
			}},
		},
	}
}

// prepareGenerator makes what the generator needs. What somebody else made under these names is left alone.
func (r *Reconciler) prepareGenerator(ctx context.Context, namespace string) error {
	cached, err := r.scopes.open(ctx, clusterSecretsIn(namespace))
	if err != nil {
		return err
	}
	for _, desired := range generatorObjects(namespace) {
		existing := desired.DeepCopyObject().(client.Object)
		err := cached.Get(ctx, client.ObjectKeyFromObject(desired), existing)
		switch {
		case apierrors.IsNotFound(err):
			err = r.Create(ctx, desired)
			if apierrors.IsAlreadyExists(err) {
				return errStale
			}
		case err == nil && isOurs(existing) && !sameContent(existing, desired):
			desired.SetResourceVersion(existing.GetResourceVersion())
			err = r.Update(ctx, desired)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeGenerator removes what was made for the generator, unless another GitOpsCluster has the same Argo CD.
func (r *Reconciler) removeGenerator(ctx context.Context, g *v1beta1.GitOpsCluster, namespace string) error {
	others := &v1beta1.GitOpsClusterList{}
	if err := r.List(ctx, others, client.MatchingFields{byArgoNamespace: namespace}); err != nil {
		return err
	}
	for i := range others.Items {
		if others.Items[i].UID != g.UID && others.Items[i].DeletionTimestamp.IsZero() {
			return nil
		}
	}
	cached, err := r.scopes.open(ctx, clusterSecretsIn(namespace))
	if err != nil {
		return err
	}
	for _, obj := range generatorObjects(namespace) {
		err := cached.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil && isOurs(obj) {
			uid := obj.GetUID()
			err = r.Delete(ctx, obj, client.Preconditions{UID: &uid})
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func isOurs(obj client.Object) bool { return obj.GetLabels()[apis.LabelGenerator] == "true" }

func sameContent(a, b client.Object) bool {
	switch a := a.(type) {
	case *corev1.ConfigMap:
		return maps.Equal(a.Data, b.(*corev1.ConfigMap).Data)
	case *rbacv1.Role:
		return equality.Semantic.DeepEqual(a.Rules, b.(*rbacv1.Role).Rules)
	case *rbacv1.RoleBinding:
		return equality.Semantic.DeepEqual(a.Subjects, b.(*rbacv1.RoleBinding).Subjects)
	}
	return true
}
