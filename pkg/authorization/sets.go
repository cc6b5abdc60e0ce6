package authorization

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"

	"github.com/towline-io/towline/pkg/apis"
)

// HasCluster reports whether a set has a cluster, by the rules of Open Cluster Management. A set with an unreadable
// selector has no cluster.
func HasCluster(set *clusterv1beta2.ManagedClusterSet, cluster *clusterv1.ManagedCluster) bool {
	selector := set.Spec.ClusterSelector
	switch selector.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		return cluster.Labels[clusterv1beta2.ClusterSetLabel] == set.Name
	case clusterv1beta2.LabelSelector:
		s, err := metav1.LabelSelectorAsSelector(selector.LabelSelector)
		return err == nil && s.Matches(labels.Set(cluster.Labels))
	}
	return false
}

// Excludes reports whether a set clearly does not have a cluster: a readable selector does not match, or the
// cluster's label names a different set.
func Excludes(set *clusterv1beta2.ManagedClusterSet, cluster *clusterv1.ManagedCluster) bool {
	selector := set.Spec.ClusterSelector
	switch selector.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		return cluster.Labels[clusterv1beta2.ClusterSetLabel] != "" && !HasCluster(set, cluster)
	case clusterv1beta2.LabelSelector:
		_, err := metav1.LabelSelectorAsSelector(selector.LabelSelector)
		return err == nil && !HasCluster(set, cluster)
	}
	return false
}

// maxSets is the maximum number of sets in a refusal.
const maxSets = 5

// NoGrant returns the refusal for a cluster without a grant to the namespace. The namespace has neither a binding of
// the cluster's sets nor a PlacementDecision with the cluster. bindings is true if a binding would suffice. A missing
// grant is no explicit refusal, and a Placement may pass over an unreachable cluster for a moment.
func NoGrant(cluster, namespace string, sets []string, bindings bool) *Refusal {
	decision := fmt.Sprintf("a Placement in namespace %s that chooses the cluster", namespace)
	if !bindings {
		return refuse(apis.ReasonClusterForbidden, "namespace %q may not deploy to cluster %q: to permit the cluster, create %s",
			namespace, cluster, decision).lacking("a PlacementDecision in namespace %s that names cluster %s", namespace, cluster)
	}
	return refuse(apis.ReasonClusterForbidden,
		"namespace %q may not deploy to cluster %q: to permit the cluster, create a ManagedClusterSetBinding in namespace %s for %s, or %s",
		namespace, cluster, namespace, oneOf(sets), decision).
		lacking("a ManagedClusterSetBinding or PlacementDecision in namespace %s for cluster %s", namespace, cluster)
}

// Withdrawn returns the refusal for a namespace that had the cluster by a ManagedClusterSetBinding. binding and set
// are the present objects; nil for none. Missing objects and objects being deleted do not refuse the cluster.
func Withdrawn(
	refusal Refusal, named types.NamespacedName, binding *clusterv1beta2.ManagedClusterSetBinding, set *clusterv1beta2.ManagedClusterSet,
	cluster *clusterv1.ManagedCluster,
) *Refusal {
	refusal.Missing = ""
	switch {
	case binding == nil || !binding.DeletionTimestamp.IsZero():
		return refusal.lacking("ManagedClusterSetBinding %s", named)
	case set == nil || !set.DeletionTimestamp.IsZero():
		return refusal.lacking("ManagedClusterSet %s", binding.Spec.ClusterSet)
	case !Excludes(set, cluster):
		return refusal.lacking("the membership of cluster %s in ManagedClusterSet %s: the label %s, or a readable selector",
			cluster.Name, set.Name, clusterv1beta2.ClusterSetLabel)
	}
	return &refusal
}

func oneOf(sets []string) string {
	if len(sets) == 0 {
		return "a ManagedClusterSet with the cluster (none exists)"
	}
	slices.Sort(sets)
	more := ""
	if len(sets) > maxSets {
		sets, more = sets[:maxSets], ", …"
	}
	return "one of the cluster's ManagedClusterSets (" + strings.Join(sets, ", ") + more + ")"
}
