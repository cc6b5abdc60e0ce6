package clusterimport

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// wish is how a GitOpsCluster wants the credentials in Secrets.
type wish struct {
	// account is the ManagedServiceAccount whose token goes into the Secrets; empty for none.
	account string

	// blank removes all credentials, including credentials of other owners.
	blank bool
}

func wishOf(g *v1beta1.GitOpsCluster) wish {
	if blank := g.Spec.CreateBlankClusterSecrets; blank != nil && *blank {
		return wish{blank: true}
	}
	return wish{account: g.Spec.ManagedServiceAccountRef}
}

// AccountOf returns the name of the ManagedServiceAccount for the tokens of a GitOpsCluster; empty for none.
func AccountOf(g *v1beta1.GitOpsCluster) string { return wishOf(g).account }

// ReadAccounts reads the annotation apis.AnnotationGitOpsAccounts. Each entry has the namespace of a GitOpsCluster and the name of
// a ManagedServiceAccount. A malformed entry permits nothing.
func ReadAccounts(annotation string) (out []types.NamespacedName) {
	for entry := range strings.SplitSeq(annotation, ",") {
		if namespace, account, ok := strings.Cut(strings.TrimSpace(entry), "/"); ok {
			out = append(out, types.NamespacedName{Namespace: namespace, Name: account})
		}
	}
	return out
}

// permits reports whether GitOpsClusters of a namespace may use an account in the Argo CD. GitOpsClusters of the Argo
// CD's own namespace may use every account, unless the list has entries for the namespace.
func (f *Facts) permits(namespace, account string) bool {
	return validAccount(account) == "" && (slices.Contains(f.Permitted, types.NamespacedName{Namespace: namespace, Name: account}) ||
		namespace == f.namespace() && !f.lists(namespace))
}

// lists reports whether the list of permitted accounts has entries for the GitOpsClusters of a namespace.
func (f *Facts) lists(namespace string) bool {
	return slices.ContainsFunc(f.Permitted, func(p types.NamespacedName) bool { return p.Namespace == namespace })
}

// validAccount returns why a name is not valid for a ManagedServiceAccount; empty for a valid name.
func validAccount(name string) string { return strings.Join(validation.IsDNS1123Subdomain(name), "; ") }

// permitted returns the wish of a GitOpsCluster, or an empty wish without permission. The removal of foreign
// credentials needs permission too.
func (f *Facts) permitted(g *v1beta1.GitOpsCluster) wish {
	w, own := wishOf(g), g.Namespace == f.namespace()
	switch {
	case !own && !f.Consent,
		w.account != "" && !f.permits(g.Namespace, w.account),
		w.blank && !own && !f.lists(g.Namespace):
		return wish{}
	}
	return w
}

// wishFor returns the wish for the credentials of a Secret, and the GitOpsCluster that decides. The result is the
// same for all owners of the Secret. GitOpsClusters of the Argo CD's own namespace come first, then GitOpsClusters of
// other namespaces. In each group, the first name with an account decides, or else the first name with
// createBlankClusterSecrets.
func (f *Facts) wishFor(existing *corev1.Secret) (wish, types.NamespacedName) {
	owners := []types.NamespacedName{f.Key()}
	if existing != nil {
		owners = append(owners, clustersecret.Owners(existing)...)
		slices.SortStableFunc(owners, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	}
	for _, own := range []bool{true, false} {
		var without wish
		var by types.NamespacedName
		for _, owner := range owners {
			if own != (owner.Namespace == f.namespace()) {
				continue
			}
			w := f.wishBy(owner)
			if w.account != "" {
				return w, owner
			}
			if w.blank && !without.blank {
				without, by = w, owner
			}
		}
		if without.blank {
			return without, by
		}
	}
	return wish{}, f.Key()
}

// wishBy returns the permitted wish of an owner of a Secret.
func (f *Facts) wishBy(owner types.NamespacedName) wish {
	if owner == f.Key() {
		return f.permitted(f.GitOpsCluster)
	}
	other := f.Others[owner]
	if other == nil || !other.DeletionTimestamp.IsZero() || other.Spec.ArgoServer.ArgoNamespace != f.namespace() {
		return wish{}
	}
	return f.permitted(other)
}

// credentials returns the credentials of a cluster's ManagedServiceAccount; nil for none.
func (f *Facts) credentials(cluster, account string) *clustersecret.Credentials {
	if s := f.Tokens[account].Secrets[cluster]; s != nil {
		return clustersecret.CredentialsOf(s)
	}
	return nil
}
