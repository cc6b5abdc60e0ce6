package authorization

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// verdict is what a project says of a destination.
type verdict int

const (
	silent verdict = iota
	permitted
	forbidden
)

// MatchesServer tells whether a pattern of servers matches the cluster's address; one that denies matches what it does not
// forbid. While the address is not known, it may be any but that of the hub, unless the cluster is the hub.
func (c Cluster) MatchesServer(pattern string) bool {
	if c.Server == "" {
		return !c.Hub && pattern == "!"+apis.InClusterServer
	}
	return matches(pattern, c.Server)
}

// Permits tells whether a project permits a namespace of a cluster. The cluster is first looked for by its name, and by the
// address that the hub's administrators gave it. Where the project is silent about that, it may permit the cluster as the
// Application itself speaks of it, and as its own Argo CD will: by the in-cluster address. What the project forbids
// under the cluster's own name or address it cannot permit under the other, which all clusters share.
func Permits(p *argocd.AppProject, c Cluster, namespace string) bool {
	switch judge(p, c, namespace) {
	case permitted:
		return true
	case forbidden:
		return false
	case silent:
	}
	return judge(p, Cluster{Name: c.Name, Server: apis.InClusterServer}, namespace) == permitted
}

// DestinationPermitted tells what Argo CD says of a destination.
func DestinationPermitted(p *argocd.AppProject, name, server, namespace string) bool {
	return judge(p, Cluster{Name: name, Server: server, Hub: true}, namespace) == permitted
}

// judge goes through the destinations in the order and by the conditions of Argo CD.
func judge(p *argocd.AppProject, c Cluster, namespace string) verdict {
	out := silent
	for _, d := range p.Spec.Destinations {
		byName := c.Name != "" && matches(d.Name, c.Name)
		byServer := c.MatchesServer(d.Server)
		inNamespace := matches(d.Namespace, namespace)
		switch {
		case (byName || byServer) && inNamespace:
			out = permitted
		case !byName && denies(d.Name), !byServer && denies(d.Server) && inNamespace, !inNamespace && denies(d.Namespace) && byServer:
			return forbidden
		}
	}
	return out
}

// goesByAddress tells whether a project speaks of clusters by addresses of their own: without the address of a cluster,
// its rules are not known to forbid it. The in-cluster address is none of them.
func goesByAddress(p *argocd.AppProject) bool {
	return slices.ContainsFunc(p.Spec.Destinations, func(d argocd.ProjectDestination) bool {
		server := strings.TrimPrefix(d.Server, "!")
		return server != "" && server != "*" && server != apis.InClusterServer
	})
}
