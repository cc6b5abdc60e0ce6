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

// MatchesName tells whether a pattern of names matches the cluster's name. A pattern that denies matches the clusters that
// the pattern does not forbid. An administrator forbids the hub by either of its names.
func (c Cluster) MatchesName(pattern string) bool {
	if c.Name == "" || !matches(pattern, c.Name) {
		return false
	}
	return !c.Hub || !denies(pattern) || matches(pattern, apis.InClusterName)
}

// MatchesServer tells whether a pattern of servers matches the cluster's address; one that denies matches what it does not
// forbid. While the address is not known, it may be any but that of the hub, unless the cluster is the hub.
func (c Cluster) MatchesServer(pattern string) bool {
	if c.Server == "" {
		return !c.Hub && pattern == "!"+apis.InClusterServer
	}
	return matches(pattern, c.Server)
}

// matchesNameThere tells whether a pattern of names means the cluster as the cluster's own Argo CD knows it. A pattern that
// denies other names does not: for the hub's Argo CD, in-cluster is the hub.
func (c Cluster) matchesNameThere(pattern string) bool {
	return c.MatchesName(pattern) || MatchesInClusterName(pattern)
}

// MatchesInClusterName tells whether a pattern names the cluster that an Argo CD runs on. A pattern with "!" names no cluster.
func MatchesInClusterName(pattern string) bool {
	return !denies(pattern) && matches(pattern, apis.InClusterName)
}

// Permits tells whether a project permits a namespace of a cluster. The cluster is first looked for by its name, and by the
// address that the hub's administrators gave it. Where the project is silent about that, it may permit the cluster as the
// Application itself speaks of it, and as its own Argo CD will: by the in-cluster address or name. What the project forbids
// under the cluster's own name or address it cannot permit under the others, which all clusters share.
func Permits(p *argocd.AppProject, c Cluster, namespace string) bool {
	switch judge(p, c.subject(), namespace) {
	case permitted:
		return true
	case forbidden:
		return false
	case silent:
	}
	there := Cluster{Server: apis.InClusterServer}
	return judge(p, subject{name: c.matchesNameThere, server: there.MatchesServer}, namespace) == permitted
}

// DestinationPermitted tells what Argo CD says of a destination.
func DestinationPermitted(p *argocd.AppProject, name, server, namespace string) bool {
	there := subject{name: Cluster{Name: name}.MatchesName, server: Cluster{Server: server, Hub: true}.MatchesServer}
	return judge(p, there, namespace) == permitted
}

// subject is a cluster that a project judges.
type subject struct {
	// name and server tell whether a pattern matches the cluster's name or address.
	name, server func(pattern string) bool

	// counts tells whether an entry that matches can permit the cluster; nil for each.
	counts func(argocd.ProjectDestination) bool
}

// subject is the cluster by its own name and address.
func (c Cluster) subject() subject { return subject{name: c.MatchesName, server: c.MatchesServer} }

// judge goes through the destinations in the order and by the conditions of Argo CD.
func judge(p *argocd.AppProject, s subject, namespace string) verdict {
	out := silent
	for _, d := range p.Spec.Destinations {
		byName, byServer := s.name(d.Name), s.server(d.Server)
		inNamespace := matches(d.Namespace, namespace)
		switch {
		case (byName || byServer) && inNamespace:
			if s.counts == nil || s.counts(d) {
				out = permitted
			}
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
