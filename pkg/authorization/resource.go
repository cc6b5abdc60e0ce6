package authorization

import (
	"encoding/json"
	"path"
	"slices"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/memo"
)

// Resource names a resource on a cluster. A cluster-scoped resource has no namespace.
type Resource struct{ Group, Kind, Namespace, Name string }

// Scope is an AppProject on a cluster. It gives the permitted resources of the project's Applications.
type Scope struct {
	Project *argocd.AppProject
	Cluster Cluster
}

// Permits reports whether the AppProject permits a resource, by the rules of Argo CD (2.14 to 3.5).
func (s *Scope) Permits(r Resource) bool {
	rules := readKindRules(s.Project.Spec.Raw)
	switch {
	case rules.Unreadable:
		return false
	case r.Namespace == "":
		return anyKind(rules.ClusterWhitelist, r) && !anyKind(rules.ClusterBlacklist, r)
	case rules.NamespaceWhitelist != nil && !anyKind(*rules.NamespaceWhitelist, r):
		return false
	}
	return !anyKind(rules.NamespaceBlacklist, r) && Permits(s.Project, s.Cluster, r.Namespace)
}

// kindRules are the rules of an AppProject for kinds of resources. Without a NamespaceWhitelist, every namespaced kind is permitted.
type kindRules struct {
	ClusterWhitelist   []kindRule  `json:"clusterResourceWhitelist"`
	ClusterBlacklist   []kindRule  `json:"clusterResourceBlacklist"`
	NamespaceWhitelist *[]kindRule `json:"namespaceResourceWhitelist"`
	NamespaceBlacklist []kindRule  `json:"namespaceResourceBlacklist"`

	// Unreadable is set if a list has a wrong form.
	Unreadable bool `json:"-"`
}

// kindRule is a pattern of resources. Only rules of Argo CD 3 for cluster-scoped resources have a name.
type kindRule struct{ Group, Kind, Name string }

// readKindRules returns the rules in the spec of an AppProject.
var readKindRules = memo.Of(func(spec []byte) (out kindRules) {
	if len(spec) > 0 && json.Unmarshal(spec, &out) != nil {
		return kindRules{Unreadable: true}
	}
	return out
})

// anyKind reports whether one of the patterns matches.
func anyKind(patterns []kindRule, r Resource) bool {
	return slices.ContainsFunc(patterns, func(p kindRule) bool {
		return fits(p.Kind, r.Kind) && fits(p.Group, r.Group) && (p.Name == "" || fits(p.Name, r.Name))
	})
}

// fits reports whether a shell pattern matches. As in Argo CD, an unreadable pattern matches nothing.
func fits(pattern, text string) bool {
	matched, err := path.Match(pattern, text)
	return err == nil && matched
}
