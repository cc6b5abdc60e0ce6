package clusterimport

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
	if blank := g.Spec.CreateBlankClusterSecrets; blank != nil && *blank {
		return wish{blank: true}
	}
	return wish{account: g.Spec.ManagedServiceAccountRef}
}

// AccountOf is the name of the ManagedServiceAccount whose tokens a GitOpsCluster wants; empty for none.
func AccountOf(g *v1beta1.GitOpsCluster) string { return wishOf(g).account }

// wishFor is what a Secret is to have, and which GitOpsCluster decides that. All that want the Secret come to the same
// result, whichever is decided about: the first in order of names that names an account, or else this one.
func (f *Facts) wishFor(existing *corev1.Secret) (wish, types.NamespacedName) {
	mine, decides := wishOf(f.GitOpsCluster), f.Key()
	if existing == nil {
		return mine, decides
	}
	for _, owner := range clustersecret.Owners(existing) {
		if mine.account != "" && owner.String() >= decides.String() {
			break
		}
		other := f.Others[owner]
		if other == nil || !other.DeletionTimestamp.IsZero() || other.Spec.ArgoServer.ArgoNamespace != existing.Namespace {
			continue
		}
		theirs := wishOf(other)
		if theirs.account != "" {
			return theirs, owner
		}
		mine.blank = mine.blank || theirs.blank
	}
	return mine, decides
}

// credentials are those of a cluster's ManagedServiceAccount; nil for none.
func (f *Facts) credentials(cluster, account string) *clustersecret.Credentials {
	if s := f.Tokens[account].Secrets[cluster]; s != nil {
		return clustersecret.CredentialsOf(s)
	}
	return nil
}
