package clusterimport

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// Options are what is said for all GitOpsClusters.
type Options struct {
	// Claims are the names of the ClusterClaims that go to the Secrets as labels.
	Claims []string

	// Grace is how long a cluster must not have been chosen before its Secret goes; 0 stands for DefaultGrace.
	Grace time.Duration

	// TakeOver says that the older controller of GitOpsClusters has stopped for good.
	TakeOver bool
}

// DefaultGrace is how long a Placement must have passed over a cluster before Argo CD forgets it. Without the Secret, or the
// labels on it, generators take Applications off the cluster, and a binding or a set that is missing for a moment, as in a
// restore, makes the Placement pass over all of its clusters.
const DefaultGrace = time.Minute

// Object is an object of the hub.
type Object interface {
	metav1.Object
	runtime.Object
}

// Facts are all that a decision about one GitOpsCluster depends on. Objects are the cache's own: nobody changes them.
type Facts struct {
	// Now is the time.
	Now time.Time

	// GitOpsCluster is the one that is decided about.
	GitOpsCluster *v1beta1.GitOpsCluster

	// Lease is that of the older controller, OlderLease; nil where the hub has none, or it may not be read.
	Lease *coordinationv1.Lease

	// Found are the namespaces of the Argo CDs that were looked at for any GitOpsCluster, and have Secrets on behalf of this one.
	Found []string

	// Placement is the one that it names, nil when the hub has none, and Decisions are the Placement's.
	Placement *clusterv1beta1.Placement
	Decisions []clusterv1beta1.PlacementDecision

	// Consent tells whether the namespace of the Argo CD that it names is labelled for GitOpsClusters of other namespaces.
	Consent bool

	// Permitted are the accounts whose tokens GitOpsClusters may have put into that Argo CD; see ReadAccounts.
	Permitted []types.NamespacedName

	// Argos are the Argo CDs that it may have Secrets in, by namespace; see Namespaces.
	Argos map[string]*Argo

	// Clusters are the chosen ManagedClusters, with the addresses that the hub's administrators gave them.
	Clusters map[string]*clusterv1.ManagedCluster

	// Others are the other GitOpsClusters that want the same Secrets; nil for one that the hub does not have.
	Others map[types.NamespacedName]*v1beta1.GitOpsCluster

	// Tokens are those of the ManagedServiceAccounts, by the name of the account; see Accounts.
	Tokens map[string]Tokens

	// Since is since when clusters that have a Secret have not been chosen any more; see Dropped.
	Since map[string]time.Time

	// Users are the Applications for which Secrets stay, by Secret: nil for a Secret that none uses. They are read for the
	// Secrets that a plan asks for.
	Users map[types.NamespacedName]*User

	// Taken are, by cluster, the Secrets that the API server has under a name that the cache does not know.
	Taken map[string]*corev1.Secret

	// Refused is, by cluster, why the API server did not take a Secret.
	Refused map[string]string

	// StoodBack is the reason that was last written for standing back; empty where it did not, and after a restart.
	StoodBack string

	// Turn counts up, one at each end of a turn. Of more namespaces than one decision is about, each has its turn.
	Turn int

	// Pruned is set where the CRD is another project's, and does not keep all of the status; see IsPruned.
	Pruned bool

	// Live is set when what a removal depends on was read past the cache.
	Live bool
}

// Tokens are the Secrets of the ManagedServiceAccounts of one name, by cluster.
type Tokens struct {
	// Forbidden is set when they may not be read.
	Forbidden bool

	Secrets map[string]*corev1.Secret
}

// Key names the GitOpsCluster.
func (f *Facts) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: f.GitOpsCluster.Namespace, Name: f.GitOpsCluster.Name}
}

// going tells whether the GitOpsCluster is being deleted.
func (f *Facts) going() bool { return !f.GitOpsCluster.DeletionTimestamp.IsZero() }

// namespace is that of the Argo CD which the GitOpsCluster names.
func (f *Facts) namespace() string { return f.GitOpsCluster.Spec.ArgoServer.ArgoNamespace }

// ArgoNamespace is the namespace of the Argo CD that the GitOpsCluster names; empty where that cannot be a namespace.
func (f *Facts) ArgoNamespace() string {
	if validNamespace(f.namespace()) != "" {
		return ""
	}
	return f.namespace()
}

// Allowed tells whether the GitOpsCluster may give clusters to the Argo CD that it names. Otherwise its author could write into
// a namespace that is not the author's.
func (f *Facts) Allowed() bool {
	return validNamespace(f.namespace()) == "" && (f.Consent || f.namespace() == f.GitOpsCluster.Namespace)
}

// maxNamespaces is how many Argo CDs one decision is about: the one that the GitOpsCluster names, and others as long as it has
// Secrets there. Its author can write as many names into its annotation as go into one; the rest wait for their turn.
const maxNamespaces = 16

// turn is how long some of more namespaces are looked at: what they say is in the status, which is not to be written all the time.
const turn = 10 * time.Minute

// TurnAt is the turn at a time.
func TurnAt(now time.Time) int { return int(now.Unix() / int64(turn/time.Second)) }

// Namespaces are those of the Argo CDs that a decision is about, sorted: where some Secrets are wanted, and where there may be some.
func (f *Facts) Namespaces() []string {
	out := f.marked().Namespaces
	if !f.going() && f.Allowed() {
		out = append([]string{f.namespace()}, without(out, f.namespace())...)
	}
	if n := len(out) - 1; n >= maxNamespaces { // the first one is always in it
		from := f.Turn % n * (maxNamespaces - 1) % n
		out = append(out[:1], slices.Concat(out[1+from:], out[1:1+from])[:maxNamespaces-1]...)
	}
	slices.Sort(out)
	return out
}

// tooMany tells whether some namespaces wait for their turn.
func (f *Facts) tooMany() bool { return len(f.marked().Namespaces) > maxNamespaces }

// marked are the marks of the GitOpsCluster, with the namespaces that it has Secrets in though it does not say so: its annotation
// was lost, as where somebody replaced the whole object.
func (f *Facts) marked() Marks {
	out := Marked(f.GitOpsCluster)
	out.Namespaces = slices.Concat(out.Namespaces, f.Found)
	slices.Sort(out.Namespaces)
	out.Namespaces = slices.Compact(out.Namespaces)
	return out
}

// target is the Argo CD that gets clusters; nil where none does.
func (f *Facts) target() *Argo {
	if f.going() || !f.Allowed() {
		return nil
	}
	return f.Argos[f.namespace()]
}

// Chosen are the names of the clusters that are to have Secrets, sorted.
func (f *Facts) Chosen() []string {
	if chosen := f.selection(); chosen != nil && f.target() != nil {
		return chosen.clusters
	}
	return nil
}

// Dropped are the clusters that have a Secret on behalf of the GitOpsCluster and are not chosen any more, for certain.
func (f *Facts) Dropped() []string {
	chosen, argo := f.selection(), f.target()
	if argo == nil || chosen == nil || !chosen.settled {
		return nil
	}
	var out []string
	for _, s := range argo.passedOver(f.Key(), chosen) {
		out = append(out, clustersecret.Cluster(s))
	}
	return out
}

// Wanted are the other GitOpsClusters that want the same Secrets.
func (f *Facts) Wanted() []types.NamespacedName {
	found := map[types.NamespacedName]bool{f.Key(): true}
	var out []types.NamespacedName
	add := func(s *corev1.Secret) {
		for _, owner := range clustersecret.Owners(s) {
			if !found[owner] {
				found[owner] = true
				out = append(out, owner)
			}
		}
	}
	for _, argo := range f.Argos {
		for _, s := range argo.owned(f.Key()) {
			add(s)
		}
	}
	argo := f.target()
	for _, name := range f.Chosen() {
		if s := argo.mine[name]; s != nil {
			add(s)
		}
	}
	for _, s := range f.Taken {
		add(s)
	}
	return out
}

// Accounts are the names of the ManagedServiceAccounts whose tokens go into Secrets.
func (f *Facts) Accounts() []string {
	var out []string
	argo := f.target()
	for _, name := range f.Chosen() {
		w, _ := f.wishFor(argo.mine[name])
		if w.account != "" && !slices.Contains(out, w.account) {
			out = append(out, w.account)
		}
	}
	return out
}

// Marks are what is noted on a GitOpsCluster before it has a Secret, where no CRD prunes it.
type Marks struct {
	// Finalizer holds the GitOpsCluster until its Secrets are gone.
	Finalizer bool

	// Namespaces are those in which it may have Secrets.
	Namespaces []string
}

// Marked are the marks of a GitOpsCluster. Where its status says more, that counts as well.
func Marked(g *v1beta1.GitOpsCluster) Marks {
	out := Marks{Finalizer: slices.Contains(g.Finalizers, apis.FinalizerClusterSecrets)}
	out.Namespaces = slices.Concat(noted(g), g.Status.ArgoNamespaces)
	slices.Sort(out.Namespaces)
	out.Namespaces = slices.Compact(out.Namespaces)
	return out
}
