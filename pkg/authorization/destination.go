package authorization

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// verdict is the answer of a project for a destination.
type verdict int

const (
	silent verdict = iota
	permitted
	forbidden
)

// MatchesName reports whether a name pattern matches the cluster's name. A "!" pattern matches the clusters that the
// pattern does not forbid. An administrator can forbid the hub by either name.
func (c Cluster) MatchesName(pattern string) bool {
	if c.Name == "" || !matches(pattern, c.Name) {
		return false
	}
	return !c.Hub || !denies(pattern) || matches(pattern, apis.InClusterName)
}

// MatchesServer reports whether a server pattern matches the cluster's address. A "!" pattern matches all addresses
// except the forbidden addresses. An unknown address may be any address except the hub's, unless the cluster is the
// hub.
func (c Cluster) MatchesServer(pattern string) bool {
	if c.Server == "" {
		return !c.Hub && pattern == "!"+apis.InClusterServer
	}
	return matches(pattern, c.Server)
}

// matchesNameThere reports whether a name pattern means the cluster in its own Argo CD. A "!" pattern for other names
// does not count: for the hub's Argo CD, in-cluster is the hub.
func (c Cluster) matchesNameThere(pattern string) bool {
	return c.MatchesName(pattern) || MatchesInClusterName(pattern)
}

// MatchesInClusterName reports whether a pattern names Argo CD's own cluster. A pattern with "!" names no cluster.
func MatchesInClusterName(pattern string) bool {
	return !denies(pattern) && matches(pattern, apis.InClusterName)
}

// Permits reports whether a project permits a namespace of a cluster. First, the cluster's name counts, and the
// address from the hub's administrators. If no entry matches, the in-cluster address or name counts, as in the
// Application and in the cluster's own Argo CD. A rule against the cluster's own name or address wins, because all
// clusters share the in-cluster destination.
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

// DestinationPermitted returns Argo CD's answer for a destination.
func DestinationPermitted(p *argocd.AppProject, name, server, namespace string) bool {
	there := subject{name: Cluster{Name: name}.MatchesName, server: Cluster{Server: server, Hub: true}.MatchesServer}
	return judge(p, there, namespace) == permitted
}

// subject is the cluster of a decision.
type subject struct {
	// name and server report whether a pattern matches the cluster's name or address.
	name, server func(pattern string) bool

	// counts reports whether a matching entry can permit the cluster; nil for every entry.
	counts func(argocd.ProjectDestination) bool
}

// subject returns the cluster by its own name and address.
func (c Cluster) subject() subject { return subject{name: c.MatchesName, server: c.MatchesServer} }

// judge checks the destinations in the order and by the conditions of Argo CD.
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

// goesByAddress reports whether a project names clusters by address. Then a refusal of a cluster without a known
// address is not certain. The in-cluster address does not count.
func goesByAddress(p *argocd.AppProject) bool {
	return slices.ContainsFunc(p.Spec.Destinations, func(d argocd.ProjectDestination) bool {
		server := strings.TrimPrefix(d.Server, "!")
		return server != "" && server != "*" && server != apis.InClusterServer
	})
}
