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

// Argo is the Argo CD of a namespace, with the cluster Secrets and the generator's objects.
type Argo struct {
	// Forbidden is set if Towline may not read the cluster Secrets.
	Forbidden bool

	// Shared is set if a second GitOpsCluster, not being deleted, names the Argo CD.
	Shared bool

	// Generator are the objects with the names that the clusterDecisionResource generator needs.
	Generator []Object

	// secrets are all cluster Secrets of the Argo CD, including foreign Secrets.
	secrets []*corev1.Secret

	// ours are the Secrets that Towline may write, the oldest first, at most one for each cluster. mine has the same
	// Secrets by cluster.
	ours []*corev1.Secret
	mine map[string]*corev1.Secret

	// byName, byCluster and byServer are the remaining Secrets, foreign Secrets and second Secrets of a cluster: by the name
	// of the Secret, by the name of the cluster, and by the address of the cluster.
	byName, byCluster, byServer map[string]*corev1.Secret
}

// NewArgo returns an Argo CD with the cluster Secrets.
func NewArgo(secrets []*corev1.Secret) *Argo {
	byAge := slices.Clone(secrets)
	slices.SortFunc(byAge, older)
	a := &Argo{
		secrets: secrets,
		mine:    map[string]*corev1.Secret{},
		byName:  map[string]*corev1.Secret{}, byCluster: map[string]*corev1.Secret{}, byServer: map[string]*corev1.Secret{},
	}
	for _, s := range byAge {
		cluster := clustersecret.Cluster(s)
		if cluster == "" || a.mine[cluster] != nil {
			a.byName[s.Name], a.byCluster[clustersecret.NameOf(s)], a.byServer[clustersecret.ServerOf(s)] = s, s, s
			continue
		}
		a.mine[cluster] = s
		a.ours = append(a.ours, s)
	}
	return a
}

// Note updates the facts with the written objects.
func (f *Facts) Note(done []Step) {
	for namespace, argo := range f.Argos {
		written := map[string]bool{} // the keys of all changed objects
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

// NoteRefused notes the API server's refusal of a Secret.
func (f *Facts) NoteRefused(s *Step, err error) {
	if f.Refused == nil {
		f.Refused = map[string]string{}
	}
	f.Refused[s.Cluster] = fmt.Sprintf("the hub refused Secret %s/%s: %v", s.Object.GetNamespace(), s.Object.GetName(), err)
}

// NoteTaken notes a Secret unknown to the cache, under the name of a cluster's Secret. A nil Secret clears the note.
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
		panic(err) // cannot happen: the object is a Secret
	}
	return out.(*corev1.Secret)
}

// older sorts Secrets written by Towline first. If a cluster has two Secrets, Towline does not touch the second.
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

// Has reports whether the Argo CD has a cluster Secret with the name.
func (a *Argo) Has(name string) bool {
	return slices.ContainsFunc(a.secrets, func(s *corev1.Secret) bool { return s.Name == name })
}

// owned returns the Secrets wanted by a GitOpsCluster, sorted by cluster.
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

// unchosen returns the Secrets of clusters that the Placement no longer chooses.
func (a *Argo) unchosen(owner types.NamespacedName, chosen *selection) []*corev1.Secret {
	return slices.DeleteFunc(a.owned(owner), func(s *corev1.Secret) bool { return chosen.has(clustersecret.Cluster(s)) })
}

// rival returns a foreign or second Secret for the same cluster; nil for none.
func (a *Argo) rival(cluster *clusterv1.ManagedCluster) *corev1.Secret {
	if s := a.byCluster[cluster.Name]; s != nil {
		return s
	}
	if s := a.byName[clustersecret.Name(cluster.Name)]; s != nil && a.mine[cluster.Name] == nil {
		return s
	}
	for _, server := range clustersecret.Servers(cluster) {
		if s := a.byServer[server]; s != nil {
			return s
		}
	}
	return nil
}

// conflict describes a foreign or second Secret for the same cluster; empty for none.
func (a *Argo) conflict(cluster *clusterv1.ManagedCluster) string {
	s := a.rival(cluster)
	switch {
	case s == nil:
		return ""
	case clustersecret.Cluster(s) == cluster.Name:
		return fmt.Sprintf("Secrets %s and %s of namespace %s are both for cluster %s: delete one of them",
			a.mine[cluster.Name].Name, s.Name, s.Namespace, cluster.Name)
	}
	return fmt.Sprintf("Secret %s/%s is for cluster %s, but does not belong to Towline: delete the Secret, or hand the Secret over with "+
		"kubectl -n %s label "+
		"secret %s %s=true %s=%s",
		s.Namespace, s.Name, cluster.Name, s.Namespace, s.Name, apis.LabelImported, apis.LabelClusterName, cluster.Name)
}

// addresses are the cluster addresses of an Argo CD.
type addresses struct {
	argo *Argo

	// holders maps each address to the imported cluster with the address. If several clusters share an address, the
	// cluster with the oldest Secret holds the address.
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

// of returns the address for a cluster, and whether the address is real. A placeholder replaces an address held by a
// different cluster.
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
	if holder := a.holders[server]; holder != "" && holder != cluster || a.argo.byServer[server] != nil {
		return false
	}
	a.holders[server] = cluster
	return true
}
