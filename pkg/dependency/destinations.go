package dependency

import (
	"encoding/json"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// verdict is the result of patterns for a cluster.
type verdict int

const (
	// silent is the verdict of a pattern for other clusters.
	silent verdict = iota
	// meant is the verdict of a pattern for this cluster.
	meant
	// denied is the verdict of a pattern against this cluster.
	denied
)

// judge returns the verdict of a name pattern and a server pattern for a cluster, by the rules of package
// authorization. An Application for pull has the in-cluster destination. Therefore a pattern for the in-cluster
// destination matches as well. A "!" pattern for other clusters does not match the in-cluster destination: on the
// hub, in-cluster means the hub itself. A cluster of unknown address may be the forbidden cluster.
func judge(c authorization.Cluster, name, server string) verdict {
	byName := c.MatchesName(name)
	byServer := c.MatchesServer(server)
	switch {
	case authorization.Denies(name) && !byName:
		return denied
	case authorization.Denies(server) && !byServer:
		return denied
	case byName, byServer,
		authorization.MatchesInClusterName(name),
		!authorization.Denies(server) && authorization.Matches(server, apis.InClusterServer):
		return meant
	}
	return silent
}

// rewriteDestinations keeps the destinations of this cluster, and rewrites them to the in-cluster address. A pattern
// against the cluster removes all destinations. In Argo CD a "!" pattern can be limited to a namespace, but the
// rewritten project cannot express the limit, and fewer rights are safe.
func rewriteDestinations(p *argocd.AppProject, c authorization.Cluster, reaches []Reach, spec fields) error {
	forbidden := p.Spec.PermitOnlyProjectScopedClusters
	delete(spec, "permitOnlyProjectScopedClusters") // the cluster's own Argo CD has no project-scoped cluster
	for _, d := range p.Spec.Destinations {
		forbidden = forbidden || judge(c, d.Name, d.Server) == denied
	}
	err := rewriteList(spec, "destinations", func(d fields) (fields, error) {
		if forbidden || judge(c, text(d, "name"), text(d, "server")) != meant {
			return nil, nil
		}
		delete(d, "name")
		d["server"] = inCluster
		return d, nil
	})
	if err != nil || forbidden {
		return err
	}
	return addDestinations(spec, reached(p, c, reaches))
}

// rewriteServiceAccount keeps the ServiceAccount for Argo CD's deployments on this cluster.
func rewriteServiceAccount(c authorization.Cluster) func(fields) (fields, error) {
	return func(account fields) (fields, error) {
		if judge(c, "", text(account, "server")) != meant {
			return nil, nil
		}
		account["server"] = inCluster
		return account, nil
	}
}

// rewriteWindow keeps the part of a sync window for this cluster. It drops a window without any remaining target. A
// window that requires all conditions is dropped too, if no cluster pattern matches. A pattern counts if it matches in one
// version of Argo CD, because a window prevents syncs.
func rewriteWindow(c authorization.Cluster) func(fields) (fields, error) {
	return func(window fields) (fields, error) {
		var clusters []string
		if raw, ok := window["clusters"]; !ok {
			return window, nil
		} else if err := json.Unmarshal(raw, &clusters); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(clusters, func(pattern string) bool {
			return judge(c, pattern, pattern) == meant || authorization.Disputed(pattern, c.Name) || authorization.Disputed(pattern, c.Server)
		}) {
			window["clusters"] = json.RawMessage("[" + string(inCluster) + "]")
			return window, nil
		}
		var all bool
		_ = json.Unmarshal(window["andOperator"], &all) // only newer Argo CDs have the field; a value other than a boolean counts as false
		delete(window, "clusters")
		if len(clusters) > 0 && (all || empty(window["applications"]) && empty(window["namespaces"])) {
			return nil, nil
		}
		return window, nil
	}
}

func empty(list json.RawMessage) bool {
	var items []json.RawMessage
	return json.Unmarshal(list, &items) != nil || len(items) == 0
}
