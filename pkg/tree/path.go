package tree

import (
	"github.com/towline-io/towline/pkg/clustersecret"
)

// inCluster is an Argo CD's name for its own cluster, even if a cluster Secret has this name.
const inCluster = "in-cluster"

// Path is the connection from the hub's argocd-server to an Application's resources.
type Path struct {
	// Cluster is the ManagedCluster of the Application.
	Cluster string

	// Name and Server are the Application's destination, from its spec on the hub.
	Name, Server string

	// Secrets are the cluster Secrets of the hub's Argo CD for the destination.
	Secrets []clustersecret.Place

	// HubRefused is true if argocd-server refuses all requests to the hub itself.
	HubRefused bool
}

// Live returns whether argocd-server reaches the Application's own cluster with separate credentials, and can never
// reach the hub instead. A destination other than the hub is not sufficient: after a change of the destination,
// argocd-server would read the old entry and ask the hub until Towline updates the entry.
func (p Path) Live() bool {
	if !p.HubRefused || p.Cluster == "" || p.Name == inCluster || p.Name != "" && p.Server != "" || len(p.Secrets) != 1 {
		return false
	}
	s := p.Secrets[0]
	return s.Cluster == p.Cluster && s.Credentials && !clustersecret.IsHub(s.Server)
}
