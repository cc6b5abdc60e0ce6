package authorization

import (
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Elsewhere is a destination cluster of a managed cluster's Argo CD. The hub knows only the name or the address in
// the Application.
type Elsewhere struct {
	argocd.Destination

	// Named excludes AppProject entries for every cluster, because the entry's author meant the hub's clusters.
	Named bool
}

// Permits reports whether a project permits a namespace of the cluster. c is the managed cluster. The project must
// not forbid the managed cluster.
func (e Elsewhere) Permits(p *argocd.AppProject, c Cluster, namespace string) bool {
	if e.Check() != nil || judge(p, c.subject(), namespace) == forbidden {
		return false
	}
	return judge(p, subject{e.matchesName, e.matchesServer, e.counts}, namespace) == permitted
}

// Matches reports whether an entry permits namespaces of the cluster, in a project without any "!".
func (e Elsewhere) Matches(d argocd.ProjectDestination) bool {
	return (e.matchesName(d.Name) || e.matchesServer(d.Server)) && e.counts(d)
}

// counts reports whether a matching entry of a project can permit the cluster.
func (e Elsewhere) counts(d argocd.ProjectDestination) bool {
	return !e.Named || e.Name != "" && names(d.Name, e.Name) || e.Server != "" && names(d.Server, e.Server)
}

// anyCluster stands for an unlisted cluster: no name and no address contains a blank.
const anyCluster = "any cluster"

// names reports whether a pattern matches a text, but not every text.
func names(pattern, text string) bool {
	_, all, _ := glance(pattern, anyCluster)
	return !denies(pattern) && matches(pattern, text) && !all
}

// matchesName reports whether a pattern matches the name. An unknown name matches only patterns for every name, and
// patterns against the hub alone.
func (e Elsewhere) matchesName(pattern string) bool {
	if e.Name == "" {
		return pattern == "*" || pattern == "!"+apis.InClusterName
	}
	return matches(pattern, e.Name)
}

// matchesServer reports whether a pattern matches the address, by the same rules as matchesName.
func (e Elsewhere) matchesServer(pattern string) bool {
	if e.Server == "" {
		return pattern == "*" || pattern == "!"+apis.InClusterServer
	}
	return matches(pattern, e.Server)
}
