package gitopscluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// wish is what a GitOpsCluster wants of the credentials in its Secrets.
type wish struct {
	// account is the ManagedServiceAccount whose token they get; empty for none.
	account string

	// blank takes out what somebody else put in, too.
	blank bool
}

func wishOf(g *v1beta1.GitOpsCluster) wish {
	blank := g.Spec.CreateBlankClusterSecrets
	if blank != nil && *blank {
		return wish{blank: true}
	}
	return wish{account: g.Spec.ManagedServiceAccountRef}
}

// wishFor is what a Secret is to have, and which GitOpsCluster decides that. All that want the Secret come to the same
// result, whichever is reconciled: the first in order of names that names an account, or else this one.
func (r *Reconciler) wishFor(ctx context.Context, g *v1beta1.GitOpsCluster, existing *corev1.Secret) (wish, types.NamespacedName, error) {
	mine, decides := wishOf(g), client.ObjectKeyFromObject(g)
	if existing == nil {
		return mine, decides, nil
	}
	for _, owner := range clustersecret.Owners(existing) {
		if mine.account != "" && owner.String() >= decides.String() {
			break
		}
		other := &v1beta1.GitOpsCluster{}
		if err := r.Get(ctx, owner, other); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return wish{}, decides, err
		}
		active := other.DeletionTimestamp.IsZero() && other.Spec.ArgoServer.ArgoNamespace == existing.Namespace
		theirs := wishOf(other)
		if owner != decides && active && theirs.account != "" {
			return theirs, owner, nil
		}
		mine.blank = mine.blank || active && theirs.blank
	}
	return mine, decides, nil
}

// tokens are the tokens of the ManagedServiceAccounts of one name, or why they cannot be read.
type tokens struct {
	client.Reader
	err error
}

// tokensOf opens them once for all clusters of an attempt.
func (r *Reconciler) tokensOf(ctx context.Context, a *argo, account string) tokens {
	t, ok := a.tokens[account]
	if !ok {
		t.Reader, t.err = r.scopes.open(ctx, tokenSecretsOf(account))
		if apierrors.IsForbidden(t.err) {
			t.err = problemf(apis.ReasonCredentialsForbidden,
				"Towline may not read the tokens of ManagedServiceAccounts named %s: install the kustomize component "+
					"managed-serviceaccount with that name", account).because(t.err)
		}
		a.tokens[account] = t
	}
	return t
}

// credentials are those of a cluster's ManagedServiceAccount, or a Problem when there are none to be had.
func (t tokens) credentials(ctx context.Context, cluster, account string) (*clustersecret.Credentials, error) {
	if t.err != nil {
		return nil, t.err
	}
	s := &corev1.Secret{}
	err := t.Get(ctx, types.NamespacedName{Namespace: cluster, Name: account}, s)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if c := clustersecret.CredentialsOf(s); err == nil && c != nil {
		return c, nil
	}
	return nil, problemf(apis.ReasonCredentialsMissing,
		"there is no Secret with the token of ManagedServiceAccount %s/%s: create the ManagedServiceAccount, and see whether "+
			"its add-on runs on the cluster", cluster, account)
}
