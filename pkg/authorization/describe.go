package authorization

import (
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Describe is a ManagedCluster as AppProjects speak of it. annotations are those of its namespace on the hub. The
// address in its spec does not count: the cluster's agent may write there, and would choose by which rules it goes.
func Describe(cluster *clusterv1.ManagedCluster, annotations map[string]string) Cluster {
	return Cluster{Name: cluster.Name, Server: Address(annotations), Hub: IsHub(cluster)}
}

// Address is the address of a cluster as annotations of its namespace give it; empty where they give none. Argo CD (2.14) drops
// slashes at the end of an address as well.
func Address(annotations map[string]string) string {
	return strings.TrimRight(strings.TrimSpace(annotations[apis.AnnotationServer]), "/")
}

// IsHub tells whether a ManagedCluster is the hub. OCM and ACM label it; ACM also fixes its name. A cluster that labels
// itself so gets less for it.
func IsHub(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Labels[apis.LabelLocalCluster] == "true" || cluster.Name == "local-cluster"
}
