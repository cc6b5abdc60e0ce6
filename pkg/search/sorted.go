package search

import (
	"cmp"
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// maxResources is the maximum number of an Application's resources in an answer. Missing resources come first.
const maxResources = 1000

// answer sorts all parts. Therefore equal facts give equal answers in any order of arrival.
func (p *parser) answer() *Answer {
	out := &Answer{Applications: make(map[Key]*Application, len(p.found)), Rejected: p.rejected}
	for key, c := range p.found {
		out.Applications[key] = c.application()
	}
	return out
}

func (c *collected) application() *Application {
	all := slices.SortedFunc(maps.Values(c.resources), missingFirst)
	kept := all[:min(len(all), maxResources)]
	slices.SortFunc(kept, byName)
	app := &Application{Resources: make([]argocd.ResourceStatus, len(kept)), Omitted: c.omitted + len(all) - len(kept)}
	copy(app.Resources, kept) // the copy frees the memory of the dropped resources
	for _, t := range slices.Sorted(maps.Keys(c.conditions)) {
		app.Conditions = append(app.Conditions, argocd.Condition{Type: t, Message: c.conditions[t]})
	}
	return app
}

func missingFirst(a, b argocd.ResourceStatus) int {
	// A status that is not empty comes first, and only missing resources have a status.
	return cmp.Or(cmp.Compare(b.Status, a.Status), byName(a, b))
}

func byName(a, b argocd.ResourceStatus) int {
	return cmp.Or(
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version),
	)
}
