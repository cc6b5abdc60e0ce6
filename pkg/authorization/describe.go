package authorization

import (
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// Describe is a ManagedCluster as AppProjects speak of it, as far as it says so itself.
func Describe(cluster *clusterv1.ManagedCluster) Cluster {
	out := Cluster{Name: cluster.Name}
	if IsHub(cluster) {
		out.Server = apis.InClusterServer
	} else if configs := cluster.Spec.ManagedClusterClientConfigs; len(configs) > 0 {
		out.Server = configs[0].URL
	}
	return out
}

// IsHub tells whether a ManagedCluster is the hub. OCM and ACM label it; ACM also fixes its name.
func IsHub(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Labels[apis.LabelLocalCluster] == "true" || cluster.Name == "local-cluster"
}
