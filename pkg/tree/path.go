package tree

import (
	"github.com/towline-io/towline/pkg/clustersecret"
)

// inCluster is the name by which an Argo CD means the cluster that it runs on, whatever a Secret of that name says.
const inCluster = "in-cluster"

// Path is how the hub's argocd-server would reach for what an Application consists of.
type Path struct {
	// Cluster is the ManagedCluster that the Application is delivered to.
	Cluster string

	// Name and Server are its destination, as its spec on the hub has it.
	Name, Server string

	// Secrets are the cluster Secrets of the hub's Argo CD that the destination means.
	Secrets []clustersecret.Place

	// HubRefused is set where argocd-server refuses the cluster that it runs on, whatever is asked of it.
	HubRefused bool
}

// Live tells whether argocd-server reaches the Application's own cluster, by credentials of its own, and can never reach the hub in
// its place. It must not be enough that the destination is not the hub: between a change of the destination and the entry
// that follows it, argocd-server would read the old entry and ask the hub.
func (p Path) Live() bool {
	if !p.HubRefused || p.Cluster == "" || p.Name == inCluster || p.Name != "" && p.Server != "" || len(p.Secrets) != 1 {
		return false
	}
	s := p.Secrets[0]
	return s.Cluster == p.Cluster && s.Credentials && !clustersecret.IsHub(s.Server)
}
