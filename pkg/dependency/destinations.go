package dependency

import (
	"encoding/json"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// verdict is what patterns say of a cluster.
type verdict int

const (
	// silent is a pattern of other clusters.
	silent verdict = iota
	// meant is a pattern of this cluster.
	meant
	// denied is a pattern that forbids this cluster.
	denied
)

// judge tells what a pattern of names and one of servers say of a cluster, as package authorization does. An Application
// for pull names its cluster as the one that it runs on, so that counts as well, where it is named: not where it is what
// a "!" leaves over, since for the hub that is its own cluster. A cluster whose address is not known may be the one that
// is forbidden.
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

// rewriteDestinations leaves those destinations that mean the cluster, as the one that Argo CD runs on there. What
// forbids the cluster forbids all of it: Argo CD can limit that to a namespace, which cannot be said there, and less is
// safe.
func rewriteDestinations(p *argocd.AppProject, c authorization.Cluster, reaches []Reach, spec fields) error {
	forbidden := p.Spec.PermitOnlyProjectScopedClusters
	delete(spec, "permitOnlyProjectScopedClusters") // the cluster's own Argo CD knows of no such cluster
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

// rewriteServiceAccount keeps the account that Argo CD is to act as on this cluster.
func rewriteServiceAccount(c authorization.Cluster) func(fields) (fields, error) {
	return func(account fields) (fields, error) {
		if judge(c, "", text(account, "server")) != meant {
			return nil, nil
		}
		account["server"] = inCluster
		return account, nil
	}
}

// rewriteWindow keeps what a sync window says of this cluster. One that is left without anything to apply to is
// dropped, and so is one that asks for all of its conditions, of which the cluster is none.
func rewriteWindow(c authorization.Cluster) func(fields) (fields, error) {
	return func(window fields) (fields, error) {
		var clusters []string
		if raw, ok := window["clusters"]; !ok {
			return window, nil
		} else if err := json.Unmarshal(raw, &clusters); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(clusters, func(pattern string) bool { return judge(c, pattern, pattern) == meant }) {
			window["clusters"] = json.RawMessage("[" + string(inCluster) + "]")
			return window, nil
		}
		var all bool
		_ = json.Unmarshal(window["andOperator"], &all) // of newer Argo CDs; what is no boolean is not set
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
