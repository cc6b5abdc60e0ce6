package authorization

import (
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Elsewhere is a cluster that the Argo CD of a managed cluster deploys to. The hub knows only the name or the address by which
// the Application asks for the cluster.
type Elsewhere struct {
	argocd.Destination

	// Named excludes entries of an AppProject that match every cluster: their author spoke of the hub's clusters.
	Named bool
}

// Permits tells whether a project permits a namespace of the cluster. c is the managed cluster, which the project must not
// forbid.
func (e Elsewhere) Permits(p *argocd.AppProject, c Cluster, namespace string) bool {
	if e.Check() != nil || judge(p, c.subject(), namespace) == forbidden {
		return false
	}
	return judge(p, subject{e.matchesName, e.matchesServer, e.counts}, namespace) == permitted
}

// Matches tells whether an entry permits namespaces of the cluster, in a project without any "!".
func (e Elsewhere) Matches(d argocd.ProjectDestination) bool {
	return (e.matchesName(d.Name) || e.matchesServer(d.Server)) && e.counts(d)
}

// counts tells whether an entry of a project that matches the cluster can permit it.
func (e Elsewhere) counts(d argocd.ProjectDestination) bool {
	return !e.Named || e.Name != "" && names(d.Name, e.Name) || e.Server != "" && names(d.Server, e.Server)
}

// anyCluster stands for a cluster that no pattern was written for: no name and no address contains a blank.
const anyCluster = "any cluster"

// names tells whether a pattern matches a text and was written for some texts only.
func names(pattern, text string) bool {
	return !denies(pattern) && matches(pattern, text) && !matches(pattern, anyCluster)
}

// matchesName tells whether a pattern matches the name. An unknown name matches only patterns that match each name, and those
// that forbid only the hub.
func (e Elsewhere) matchesName(pattern string) bool {
	if e.Name == "" {
		return pattern == "*" || pattern == "!"+apis.InClusterName
	}
	return matches(pattern, e.Name)
}

// matchesServer does so for the address.
func (e Elsewhere) matchesServer(pattern string) bool {
	if e.Server == "" {
		return pattern == "*" || pattern == "!"+apis.InClusterServer
	}
	return matches(pattern, e.Server)
}
