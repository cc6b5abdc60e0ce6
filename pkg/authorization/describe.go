package authorization

import (
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Describe returns a ManagedCluster in the terms of AppProjects. annotations are from the cluster's namespace on the
// hub. The address in the ManagedCluster's spec does not count: the cluster's agent may write the spec, and could
// choose the rules for itself.
func Describe(cluster *clusterv1.ManagedCluster, annotations map[string]string) Cluster {
	return Cluster{Name: cluster.Name, Server: Address(annotations), Hub: IsHub(cluster)}
}

// Address returns the address of a cluster from the annotations of its namespace; empty for none. Like Argo CD
// (2.14), Address drops trailing slashes.
func Address(annotations map[string]string) string {
	return strings.TrimRight(strings.TrimSpace(annotations[apis.AnnotationServer]), "/")
}

// IsHub reports whether a ManagedCluster is the hub. OCM and ACM label the ManagedCluster; ACM also fixes the name. A
// cluster that labels itself as the hub gets fewer rights.
func IsHub(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Labels[apis.LabelLocalCluster] == "true" || cluster.Name == "local-cluster"
}
