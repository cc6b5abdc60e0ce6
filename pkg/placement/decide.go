// Package placement decides which cluster an Application goes to that follows a Placement: a pure function of what the Placement of
// the Application's own namespace has chosen. It has no client; see controllers/placement.
package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Plan is what becomes of the Application.
type Plan struct {
	// Cluster is the cluster that it is to name; empty to leave it as it is.
	Cluster string

	// Warning says why it does not follow, and what to do; empty where it does.
	Warning string
}

// Follows tells whether an Application follows a Placement now. One that is being deleted, or is not for pull, stays as it is.
func Follows(app *argocd.Application) bool {
	return app.Placement() != "" && app.Pulled() && app.DeletionTimestamp.IsZero()
}

// Decide is the plan for an Application, by the clusters that its Placement has chosen, as the PlacementDecisions of the
// Application's namespace have them.
//
// A Placement that has chosen none takes nothing away: what runs goes on where it is. Of several clusters none is better than the
// others, and an Application has one: it stays where it is too.
func Decide(app *argocd.Application, chosen []string) Plan {
	if !Follows(app) {
		return Plan{}
	}
	if set, ok := app.ApplicationSet(); ok {
		return Plan{Warning: fmt.Sprintf("ApplicationSet %s creates this Application, and would undo a change of its cluster: remove the annotation %s "+
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

// stays says where an Application is that stays.
func stays(app *argocd.Application) string {
	if app.Cluster() == "" {
		return "This Application has no cluster yet."
	}
	return "This Application stays on cluster " + app.Cluster() + "."
}

// some names the first of many.
func some(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
