package authorization

import (
	"slices"

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

// Permits tells whether a project permits a namespace of a cluster. The cluster is first looked for as the hub's Argo
// CD knows it, by its name and address. Where the project is silent about that, it may permit the cluster as the
// Application itself speaks of it, and as its own Argo CD will: by the in-cluster address. What the project forbids
// under the cluster's own name or address it cannot permit under the other, which all clusters share.
func Permits(p *argocd.AppProject, c Cluster, namespace string) bool {
	switch judge(p, c.Name, c.Server, namespace) {
	case permitted:
		return true
	case forbidden:
		return false
	case silent:
	}
	return judge(p, c.Name, apis.InClusterServer, namespace) == permitted
}

// DestinationPermitted tells what Argo CD says of a destination.
func DestinationPermitted(p *argocd.AppProject, name, server, namespace string) bool {
	return judge(p, name, server, namespace) == permitted
}

// judge goes through the destinations in the order and by the conditions of Argo CD.
func judge(p *argocd.AppProject, name, server, namespace string) verdict {
	out := silent
	for _, d := range p.Spec.Destinations {
		byName := name != "" && matches(d.Name, name)
		byServer := server != "" && matches(d.Server, server)
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
// its rules are not known to forbid it.
func goesByAddress(p *argocd.AppProject) bool {
	return slices.ContainsFunc(p.Spec.Destinations, func(d argocd.ProjectDestination) bool {
		return d.Server != "" && d.Server != "*" && d.Server != apis.InClusterServer
	})
}
