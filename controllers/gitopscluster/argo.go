package gitopscluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// argo is what the Argo CD of a namespace knows of clusters.
type argo struct {
	namespace string

	// mine are the Secrets that Towline may write, by cluster.
	mine map[string]*corev1.Secret

	// named, called and at are the rest: by the name of the Secret, by that of its cluster, and by its address.
	named, called, at map[string]*corev1.Secret

	// holders are the clusters of Towline's that have an address, by address. Of several with one the oldest has it.
	holders map[string]string

	// tokens are those that have been opened for this attempt, by the name of their accounts.
	tokens map[string]tokens
}

func newArgo(namespace string, secrets []corev1.Secret) *argo {
	byAge := make([]*corev1.Secret, len(secrets))
	for i := range secrets {
		byAge[i] = &secrets[i]
	}
	slices.SortFunc(byAge, older)
	a := &argo{
		namespace: namespace, mine: map[string]*corev1.Secret{}, holders: map[string]string{}, tokens: map[string]tokens{},
		named: map[string]*corev1.Secret{}, called: map[string]*corev1.Secret{}, at: map[string]*corev1.Secret{},
	}
	for _, s := range byAge {
		cluster, server := clustersecret.Cluster(s), clustersecret.ServerOf(s)
		if cluster == "" || a.mine[cluster] != nil {
			a.named[s.Name], a.called[clustersecret.NameOf(s)], a.at[server] = s, s, s
			continue
		}
		a.mine[cluster] = s
		if _, taken := a.holders[server]; !taken {
			a.holders[server] = cluster
		}
	}
	return a
}

// older puts Secrets that Towline has written first: of two for one cluster the other is not to be touched.
func older(a, b *corev1.Secret) int {
	_, x := a.Annotations[apis.AnnotationGitOpsClusters]
	_, y := b.Annotations[apis.AnnotationGitOpsClusters]
	switch {
	case x && !y:
		return -1
	case y && !x:
		return 1
	}
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// conflict is a Problem when there is a Secret of somebody else's for the same cluster.
func (a *argo) conflict(cluster *clusterv1.ManagedCluster) *Problem {
	s := a.rival(cluster)
	switch {
	case s == nil:
		return nil
	case clustersecret.Cluster(s) == cluster.Name:
		return problemf(apis.ReasonSecretConflict, "Secrets %s and %s of namespace %s are both for cluster %s: delete one of them",
			a.mine[cluster.Name].Name, s.Name, s.Namespace, cluster.Name)
	}
	return problemf(apis.ReasonSecretConflict,
		"Secret %s/%s is for cluster %s and not Towline's: delete it, or hand it over with kubectl -n %s label secret %s %s=true %s=%s",
		s.Namespace, s.Name, cluster.Name, s.Namespace, s.Name, apis.LabelImported, apis.LabelClusterName, cluster.Name)
}

func (a *argo) rival(cluster *clusterv1.ManagedCluster) *corev1.Secret {
	if s := a.called[cluster.Name]; s != nil {
		return s
	}
	if s := a.named[clustersecret.Name(cluster.Name)]; s != nil && a.mine[cluster.Name] == nil {
		return s
	}
	for _, server := range clustersecret.Servers(cluster) {
		if s := a.at[server]; s != nil {
			return s
		}
	}
	return nil
}

// server is the address that a cluster is to have, and whether it is its real one. No other cluster has it.
func (a *argo) server(cluster *clusterv1.ManagedCluster) (string, bool) {
	for _, server := range clustersecret.Servers(cluster) {
		if a.take(server, cluster.Name) {
			return server, true
		}
	}
	server := clustersecret.Placeholder(cluster.Name)
	a.take(server, cluster.Name)
	return server, false
}

func (a *argo) take(server, cluster string) bool {
	if holder, taken := a.holders[server]; taken && holder != cluster || a.at[server] != nil {
		return false
	}
	a.holders[server] = cluster
	return true
}

// owned are the Secrets that a GitOpsCluster wants, sorted by cluster.
func (a *argo) owned(owner types.NamespacedName) []*corev1.Secret {
	var out []*corev1.Secret
	for _, s := range a.mine {
		if clustersecret.OwnedBy(s, owner) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Secret) int {
		return strings.Compare(clustersecret.Cluster(a), clustersecret.Cluster(b))
	})
	return out
}
