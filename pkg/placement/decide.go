// Package placement decides about the cluster of an Application that follows a Placement. The decision is a pure
// function of the clusters chosen by a Placement in the Application's own namespace. The package has no client; see
// controllers/placement.
package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Plan is the change of the Application.
type Plan struct {
	// Cluster is the new cluster of the Application; empty for no change.
	Cluster string

	// Warning is why the Application does not follow the Placement, with the required action; empty if the
	// Application follows.
	Warning string
}

// Follows reports whether an Application now follows a Placement. An Application in deletion, or not for pull, keeps
// its cluster.
func Follows(app *argocd.Application) bool {
	return app.Placement() != "" && app.Pulled() && app.DeletionTimestamp.IsZero()
}

// Decide returns the plan for an Application, from the clusters chosen by its Placement. The clusters come from the
// PlacementDecisions in the Application's namespace.
//
// A Placement without a chosen cluster removes nothing: the Application stays on its cluster. With several chosen
// clusters, the Application also stays, because no chosen cluster has priority, and an Application has only one
// cluster.
func Decide(app *argocd.Application, chosen []string) Plan {
	if !Follows(app) {
		return Plan{}
	}
	if set, ok := app.ApplicationSet(); ok {
		return Plan{Warning: fmt.Sprintf("ApplicationSet %s creates this Application, and would undo a change of the cluster: remove the annotation %s "+
			"from its template, and use the generator clusterDecisionResource with the Placement", set, apis.AnnotationPlacement)}
	}
	chosen = slices.Compact(slices.Sorted(slices.Values(chosen)))
	switch {
	case len(chosen) == 0:
		return Plan{Warning: fmt.Sprintf("Placement %s/%s has chosen no cluster, or does not exist. %s",
			app.Namespace, app.Placement(), stays(app))}
	case len(chosen) > 1:
		return Plan{Warning: fmt.Sprintf("Placement %s/%s has chosen %d clusters (%s), but an Application needs exactly one: set the Placement's "+
			"numberOfClusters to 1. %s", app.Namespace, app.Placement(), len(chosen), some(chosen), stays(app))}
	case chosen[0] == app.Cluster():
		return Plan{}
	}
	return Plan{Cluster: chosen[0]}
}

// stays describes the cluster of an Application that stays.
func stays(app *argocd.Application) string {
	if app.Cluster() == "" {
		return "This Application has no cluster yet."
	}
	return "This Application stays on cluster " + app.Cluster() + "."
}

// some returns the first names of a long list.
func some(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
