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

// Options are the settings for all GitOpsClusters.
type Options struct {
	// Claims are the names of the ClusterClaims for labels on the Secrets.
	Claims []string

	// Grace is how long a cluster must be unchosen before Towline removes the Secret; 0 stands for DefaultGrace.
	Grace time.Duration

	// TakeOver is set if the older controller of GitOpsClusters has stopped for good.
	TakeOver bool
}

// DefaultGrace is how long a Placement must have passed over a cluster before Argo CD loses the cluster. Without the
// Secret or the labels, generators remove Applications from the cluster. If a restore lacks a binding or a set for a
// moment, the Placement passes over all clusters.
const DefaultGrace = time.Minute

// Object is an object of the hub.
type Object interface {
	metav1.Object
	runtime.Object
}

// Facts are all inputs of a decision about a GitOpsCluster. The objects belong to the cache: do not change them.
type Facts struct {
	// Now is the current time.
	Now time.Time

	// GitOpsCluster is the object of the decision.
	GitOpsCluster *v1beta1.GitOpsCluster

	// Lease is the Lease OlderLease of the older controller; nil if the hub lacks the Lease, or if Towline may not
	// read it.
	Lease *coordinationv1.Lease

	// Found are the namespaces of observed Argo CDs with Secrets on behalf of the GitOpsCluster.
	Found []string

	// Placement is the Placement of the GitOpsCluster; nil if the hub has none. Decisions are the PlacementDecisions
	// of the Placement.
	Placement *clusterv1beta1.Placement
	Decisions []clusterv1beta1.PlacementDecision

	// Consent is true if the namespace of the named Argo CD is labelled for GitOpsClusters of other namespaces.
	Consent bool

	// Permitted are the accounts whose tokens GitOpsClusters may use in the Argo CD; see ReadAccounts.
	Permitted []types.NamespacedName

	// Argos are the Argo CDs with possible Secrets, by namespace; see Namespaces.
	Argos map[string]*Argo

	// Clusters are the chosen ManagedClusters, with the addresses from the hub's administrators.
	Clusters map[string]*clusterv1.ManagedCluster

	// Others are the other GitOpsClusters of the same Secrets; nil for a GitOpsCluster missing on the hub.
	Others map[types.NamespacedName]*v1beta1.GitOpsCluster

	// Tokens are the tokens of the ManagedServiceAccounts, by the name of the account; see Accounts.
	Tokens map[string]Tokens

	// Since is when the Placement stopped choosing clusters with a Secret; see Dropped.
	Since map[string]time.Time

	// Users are the Applications that keep a Secret, by Secret; nil for an unused Secret. The caller reads the users
	// only of the Secrets in Plan.Ask.
	Users map[types.NamespacedName]*User

	// Taken are Secrets on the API server under names unknown to the cache, by cluster.
	Taken map[string]*corev1.Secret

	// Refused are the API server's reasons for refused Secrets, by cluster.
	Refused map[string]string

	// StoodBack is the last written reason for standing back; empty for none, and after a restart.
	StoodBack string

	// Rotation increases by one after each rotationInterval. If the GitOpsCluster has more namespaces than the limit, each
	// rotation handles other namespaces.
	Rotation int

	// Pruned is set if the CRD of a different project drops fields of the status; see IsPruned.
	Pruned bool

	// Live is set if the caller has read the facts for a removal past the cache.
	Live bool
}

// Tokens are the Secrets of the ManagedServiceAccounts with the same name, by cluster.
type Tokens struct {
	// Forbidden is set if Towline may not read the Secrets.
	Forbidden bool

	Secrets map[string]*corev1.Secret
}

// Key returns the namespace and name of the GitOpsCluster.
func (f *Facts) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: f.GitOpsCluster.Namespace, Name: f.GitOpsCluster.Name}
}

// deletionRequested reports whether the GitOpsCluster is being deleted.
func (f *Facts) deletionRequested() bool { return !f.GitOpsCluster.DeletionTimestamp.IsZero() }

// namespace returns the namespace of the named Argo CD.
func (f *Facts) namespace() string { return f.GitOpsCluster.Spec.ArgoServer.ArgoNamespace }

// ArgoNamespace returns the namespace of the named Argo CD; empty for an invalid name.
func (f *Facts) ArgoNamespace() string {
	if validNamespace(f.namespace()) != "" {
		return ""
	}
	return f.namespace()
}

// Allowed reports whether the GitOpsCluster may give clusters to the named Argo CD. Otherwise the author of the
// GitOpsCluster could write into foreign namespaces.
func (f *Facts) Allowed() bool {
	return validNamespace(f.namespace()) == "" && (f.Consent || f.namespace() == f.GitOpsCluster.Namespace)
}

// maxNamespaces is the maximum number of Argo CDs in a decision: the named Argo CD, and others with remaining
// Secrets. An author can write many names into the annotation, so the rest must wait for a later rotation.
const maxNamespaces = 16

// rotationInterval is how long decisions handle the same part of the namespaces, if there are too many. A shorter
// interval would write the status too often.
const rotationInterval = 10 * time.Minute

// RotationAt returns the number of the rotation at a time.
func RotationAt(now time.Time) int { return int(now.Unix() / int64(rotationInterval/time.Second)) }

// Namespaces returns the sorted namespaces of the decision's Argo CDs: the target, and namespaces with possible
// Secrets.
func (f *Facts) Namespaces() []string {
	out := f.marked().Namespaces
	if !f.deletionRequested() && f.Allowed() {
		out = append([]string{f.namespace()}, without(out, f.namespace())...)
	}
	if n := len(out) - 1; n >= maxNamespaces { // the first namespace is always included
		from := f.Rotation % n * (maxNamespaces - 1) % n
		out = append(out[:1], slices.Concat(out[1+from:], out[1:1+from])[:maxNamespaces-1]...)
	}
	slices.Sort(out)
	return out
}

// tooMany reports whether some namespaces wait for a later rotation.
func (f *Facts) tooMany() bool { return len(f.marked().Namespaces) > maxNamespaces }

// marked returns the marks of the GitOpsCluster, plus the namespaces of existing Secrets. The annotation may be lost,
// for example after a replacement of the whole object.
func (f *Facts) marked() Marks {
	out := Marked(f.GitOpsCluster)
	out.Namespaces = slices.Concat(out.Namespaces, f.Found)
	slices.Sort(out.Namespaces)
	out.Namespaces = slices.Compact(out.Namespaces)
	return out
}

// target returns the Argo CD for the chosen clusters; nil for none.
func (f *Facts) target() *Argo {
	if f.deletionRequested() || !f.Allowed() {
		return nil
	}
	return f.Argos[f.namespace()]
}

// Chosen returns the sorted names of the clusters that need Secrets.
func (f *Facts) Chosen() []string {
	if chosen := f.selection(); chosen != nil && f.target() != nil {
		return chosen.clusters
	}
	return nil
}

// Dropped returns the clusters with a Secret of the GitOpsCluster that the Placement certainly no longer chooses.
func (f *Facts) Dropped() []string {
	chosen, argo := f.selection(), f.target()
	if argo == nil || chosen == nil || !chosen.settled {
		return nil
	}
	var out []string
	for _, s := range argo.unchosen(f.Key(), chosen) {
		out = append(out, clustersecret.Cluster(s))
	}
	return out
}

// Wanted returns the other GitOpsClusters of the same Secrets.
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

// Accounts returns the names of the ManagedServiceAccounts whose tokens go into Secrets.
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

// Marks are the finalizer and the annotation of a GitOpsCluster, written before the first Secret. No CRD prunes
// metadata.
type Marks struct {
	// Finalizer keeps the GitOpsCluster until all Secrets are gone.
	Finalizer bool

	// Namespaces are the namespaces of possible Secrets.
	Namespaces []string
}

// Marked returns the marks of a GitOpsCluster, plus the namespaces in the status.
func Marked(g *v1beta1.GitOpsCluster) Marks {
	out := Marks{Finalizer: slices.Contains(g.Finalizers, apis.FinalizerClusterSecrets)}
	out.Namespaces = slices.Concat(noted(g), g.Status.ArgoNamespaces)
	slices.Sort(out.Namespaces)
	out.Namespaces = slices.Compact(out.Namespaces)
	return out
}
