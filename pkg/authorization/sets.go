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

// Holds tells whether a set holds a cluster, by Open Cluster Management's rules. A set with a selector that cannot be
// read holds nothing.
func Holds(set *clusterv1beta2.ManagedClusterSet, cluster *clusterv1.ManagedCluster) bool {
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

// Excludes tells whether a set says that a cluster is none of its own, rather than nothing: its selector can be read and
// does not match, or the cluster's label names another set.
func Excludes(set *clusterv1beta2.ManagedClusterSet, cluster *clusterv1.ManagedCluster) bool {
	selector := set.Spec.ClusterSelector
	switch selector.SelectorType {
	case "", clusterv1beta2.ExclusiveClusterSetLabel:
		return cluster.Labels[clusterv1beta2.ClusterSetLabel] != "" && !Holds(set, cluster)
	case clusterv1beta2.LabelSelector:
		_, err := metav1.LabelSelectorAsSelector(selector.LabelSelector)
		return err == nil && !Holds(set, cluster)
	}
	return false
}

// maxSets is how many sets a refusal names.
const maxSets = 5

// NoGrant is the refusal of a cluster to a namespace that has been given none of the sets, which hold the cluster, and
// no PlacementDecision that names it. bindings tells whether a binding would do. Nobody says no by giving nothing, and a
// Placement passes over a cluster that cannot be reached for the moment.
func NoGrant(cluster, namespace string, sets []string, bindings bool) *Refusal {
	decision := fmt.Sprintf("a Placement in namespace %s that chooses it", namespace)
	if !bindings {
		return refuse(apis.ReasonClusterForbidden, "namespace %q may not deploy to cluster %q: to allow it, create %s",
			namespace, cluster, decision).because("a PlacementDecision in namespace %s that names cluster %s", namespace, cluster)
	}
	return refuse(apis.ReasonClusterForbidden,
		"namespace %q may not deploy to cluster %q: to allow it, create a ManagedClusterSetBinding in namespace %s for %s, or %s",
		namespace, cluster, namespace, oneOf(sets), decision).
		because("a ManagedClusterSetBinding or PlacementDecision in namespace %s for cluster %s", namespace, cluster)
}

// Withdrawn is the refusal of a cluster to a namespace that had it by a ManagedClusterSetBinding. binding and set are what
// is there of these now, nil for nothing: what is missing, or being deleted, says nothing.
func Withdrawn(
	refusal Refusal, named types.NamespacedName, binding *clusterv1beta2.ManagedClusterSetBinding, set *clusterv1beta2.ManagedClusterSet,
	cluster *clusterv1.ManagedCluster,
) *Refusal {
	refusal.Missing = ""
	switch {
	case binding == nil || !binding.DeletionTimestamp.IsZero():
		return refusal.because("ManagedClusterSetBinding %s", named)
	case set == nil || !set.DeletionTimestamp.IsZero():
		return refusal.because("ManagedClusterSet %s", binding.Spec.ClusterSet)
	case !Excludes(set, cluster):
		return refusal.because("what puts cluster %s into ManagedClusterSet %s: the label %s, or a selector that can be read",
			cluster.Name, set.Name, clusterv1beta2.ClusterSetLabel)
	}
	return &refusal
}

func oneOf(sets []string) string {
	if len(sets) == 0 {
		return "a ManagedClusterSet that holds it (none does)"
	}
	slices.Sort(sets)
	more := ""
	if len(sets) > maxSets {
		sets, more = sets[:maxSets], ", …"
	}
	return "one of the ManagedClusterSets that hold it (" + strings.Join(sets, ", ") + more + ")"
}
