package reading

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
)

// AccountNamespace returns the namespace of a user that is a ServiceAccount.
func AccountNamespace(user string) (namespace string, ok bool) {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, _, _ = strings.Cut(account, ":")
	return namespace, ok
}

// controllerRole is the name of the ClusterRole of Towline's controller, and of the ClusterRoleBinding, as in
// deploy/rbac.
const controllerRole = "towline-controller"

// TowlineLabels are the labels of every object from deploy/. Any tenant can set them: see Accounts.
var TowlineLabels = client.MatchingLabels{"app.kubernetes.io/name": "towline"}

// Accounts returns the ServiceAccounts of the hub's Towline. The result comes from cluster-wide bindings, because no
// tenant can write cluster-wide bindings. The Operator Lifecycle Manager gives the binding a different name. Then the
// right to publish identifies the ClusterRole.
func Accounts(ctx context.Context, c client.Reader) ([]types.NamespacedName, error) {
	b := &rbacv1.ClusterRoleBinding{}
	err := c.Get(ctx, types.NamespacedName{Name: controllerRole}, b)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, err
	case err == nil && b.RoleRef.Name == controllerRole:
		return accounts(b.Subjects), nil
	}
	return publishers(ctx, c)
}

// publishers returns the ServiceAccounts with a ClusterRole that may publish reports. The admission policies take
// them for Towline's ServiceAccounts.
func publishers(ctx context.Context, c client.Reader) ([]types.NamespacedName, error) {
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	if err := c.List(ctx, roles); err != nil {
		return nil, err
	}
	if err := c.List(ctx, bindings); err != nil {
		return nil, err
	}
	publish := map[string]bool{}
	for i := range roles.Items {
		publish[roles.Items[i].Name] = slices.ContainsFunc(roles.Items[i].Rules, publishes)
	}
	var out []types.NamespacedName
	for i := range bindings.Items {
		if b := &bindings.Items[i]; publish[b.RoleRef.Name] {
			out = append(out, accounts(b.Subjects)...)
		}
	}
	return out, nil
}

func publishes(r rbacv1.PolicyRule) bool {
	return slices.Contains(r.Verbs, "publish") && slices.Contains(r.APIGroups, apis.Group) &&
		slices.Contains(r.Resources, "multiclusterapplicationsetreports")
}

func accounts(subjects []rbacv1.Subject) []types.NamespacedName {
	var out []types.NamespacedName
	for _, s := range subjects {
		if s.Kind == rbacv1.ServiceAccountKind {
			out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return out
}

// Controllers returns the Deployments of the hub's Towline: the Deployments under a ServiceAccount of Towline. A
// foreign Deployment with Towline's labels is left out.
func Controllers(ctx context.Context, c client.Reader) ([]appsv1.Deployment, error) {
	accounts, err := Accounts(ctx, c)
	if err != nil {
		return nil, err
	}
	var out []appsv1.Deployment
	for _, account := range accounts {
		list := &appsv1.DeploymentList{}
		if err := c.List(ctx, list, TowlineLabels, client.InNamespace(account.Namespace)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if list.Items[i].Spec.Template.Spec.ServiceAccountName == account.Name {
				out = append(out, list.Items[i])
			}
		}
	}
	return out, nil
}
