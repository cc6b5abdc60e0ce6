package clusterimport

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// Argo is what the Argo CD of a namespace has.
type Argo struct {
	// Forbidden is set when Towline may not see its Secrets.
	Forbidden bool

	// Shared is set when another GitOpsCluster that stays names it.
	Shared bool

	// Generator are the objects under the names of those that the clusterDecisionResource generator needs.
	Generator []Object

	// secrets are its cluster Secrets, whosever they are.
	secrets []*corev1.Secret

	// ours are the Secrets that Towline may write, one for a cluster, the oldest first; mine are the same by cluster.
	ours []*corev1.Secret
	mine map[string]*corev1.Secret

	// named, called and at are the rest: by the name of the Secret, by that of its cluster, and by its address.
	named, called, at map[string]*corev1.Secret
}

// NewArgo is an Argo CD with these cluster Secrets.
func NewArgo(secrets []*corev1.Secret) *Argo {
	byAge := slices.Clone(secrets)
	slices.SortFunc(byAge, older)
	a := &Argo{
		secrets: secrets,
		mine:    map[string]*corev1.Secret{}, named: map[string]*corev1.Secret{}, called: map[string]*corev1.Secret{}, at: map[string]*corev1.Secret{},
	}
	for _, s := range byAge {
		cluster := clustersecret.Cluster(s)
		if cluster == "" || a.mine[cluster] != nil {
			a.named[s.Name], a.called[clustersecret.NameOf(s)], a.at[clustersecret.ServerOf(s)] = s, s, s
			continue
		}
		a.mine[cluster] = s
		a.ours = append(a.ours, s)
	}
	return a
}

// Note takes over what was written.
func (f *Facts) Note(done []Step) {
	for namespace, argo := range f.Argos {
		written := map[string]bool{} // objects that are not what they were
		var secrets []*corev1.Secret
		var generator []Object
		for i := range done {
			s := &done[i]
			if s.Target().GetNamespace() != namespace {
				continue
			}
			written[kindOf(s.Target())+s.Target().GetName()] = true
			if secret, is := s.Object.(*corev1.Secret); is {
				secrets = append(secrets, trimmed(secret))
			} else if s.Object != nil {
				generator = append(generator, s.Object)
			}
		}
		if len(written) == 0 {
			continue
		}
		now := NewArgo(append(remaining(argo.secrets, written), secrets...))
		now.Shared, now.Generator = argo.Shared, append(remaining(argo.Generator, written), generator...)
		f.Argos[namespace] = now
	}
}

func remaining[T Object](all []T, written map[string]bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool { return written[kindOf(o)+o.GetName()] })
}

// NoteRefused takes over that the API server does not have a Secret as a step would write it.
func (f *Facts) NoteRefused(s *Step, err error) {
	if f.Refused == nil {
		f.Refused = map[string]string{}
	}
	f.Refused[s.Cluster] = fmt.Sprintf("the hub refused Secret %s/%s: %v", s.Object.GetNamespace(), s.Object.GetName(), err)
}

// NoteTaken takes over a Secret that has the name of a cluster's and that the cache does not know; nil for none.
func (f *Facts) NoteTaken(cluster string, s *corev1.Secret) {
	if f.Taken == nil {
		f.Taken = map[string]*corev1.Secret{}
	}
	delete(f.Taken, cluster)
	if s != nil {
		f.Taken[cluster] = trimmed(s)
	}
}

func trimmed(s *corev1.Secret) *corev1.Secret {
	out, err := clustersecret.Trim(s)
	if err != nil {
		panic(err) // it is a Secret
	}
	return out.(*corev1.Secret)
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

// Has tells whether the Argo CD has a cluster Secret of that name.
func (a *Argo) Has(name string) bool {
	return slices.ContainsFunc(a.secrets, func(s *corev1.Secret) bool { return s.Name == name })
}

// owned are the Secrets that a GitOpsCluster wants, sorted by cluster.
func (a *Argo) owned(owner types.NamespacedName) []*corev1.Secret {
	if a == nil {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(a.ours), func(s *corev1.Secret) bool { return !clustersecret.OwnedBy(s, owner) })
	slices.SortFunc(out, func(a, b *corev1.Secret) int {
		return strings.Compare(clustersecret.Cluster(a), clustersecret.Cluster(b))
	})
	return out
}

// passedOver are those of clusters that are not chosen any more.
func (a *Argo) passedOver(owner types.NamespacedName, chosen *selection) []*corev1.Secret {
	return slices.DeleteFunc(a.owned(owner), func(s *corev1.Secret) bool { return chosen.has(clustersecret.Cluster(s)) })
}

// rival is a Secret of somebody else's for the same cluster; nil for none.
func (a *Argo) rival(cluster *clusterv1.ManagedCluster) *corev1.Secret {
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

// conflict says which Secret of somebody else's is for the same cluster; nothing for none.
func (a *Argo) conflict(cluster *clusterv1.ManagedCluster) string {
	s := a.rival(cluster)
	switch {
	case s == nil:
		return ""
	case clustersecret.Cluster(s) == cluster.Name:
		return fmt.Sprintf("Secrets %s and %s of namespace %s are both for cluster %s: delete one of them",
			a.mine[cluster.Name].Name, s.Name, s.Namespace, cluster.Name)
	}
	return fmt.Sprintf("Secret %s/%s is for cluster %s, but does not belong to Towline: delete it, or hand it over with kubectl -n %s label "+
		"secret %s %s=true %s=%s",
		s.Namespace, s.Name, cluster.Name, s.Namespace, s.Name, apis.LabelImported, apis.LabelClusterName, cluster.Name)
}

// addresses are those that the clusters of an Argo CD have.
type addresses struct {
	argo *Argo

	// holders are the clusters of Towline's that have an address, by address. Of several with one the oldest has it.
	holders map[string]string
}

func (a *Argo) addresses() *addresses {
	out := &addresses{argo: a, holders: make(map[string]string, len(a.ours))}
	for _, s := range a.ours {
		if server := clustersecret.ServerOf(s); out.holders[server] == "" {
			out.holders[server] = clustersecret.Cluster(s)
		}
	}
	return out
}

// of is the address that a cluster is to have, and whether it is its real one. No other cluster has it.
func (a *addresses) of(cluster *clusterv1.ManagedCluster) (string, bool) {
	for _, server := range clustersecret.Servers(cluster) {
		if a.take(server, cluster.Name) {
			return server, true
		}
	}
	server := clustersecret.Placeholder(cluster.Name)
	a.take(server, cluster.Name)
	return server, false
}

func (a *addresses) take(server, cluster string) bool {
	if holder := a.holders[server]; holder != "" && holder != cluster || a.argo.at[server] != nil {
		return false
	}
	a.holders[server] = cluster
	return true
}
