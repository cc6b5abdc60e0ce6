package dependency

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// Reach is the destination of an Application on a cluster behind the Application's own cluster.
type Reach struct {
	authorization.Elsewhere

	// Namespace is the namespace of the Application's destination.
	Namespace string
}

// goesElsewhere reports whether an Application deploys to a cluster behind its own cluster.
func goesElsewhere(app *argocd.Application) bool {
	return app.DestinationThere().Canonical() != argocd.InCluster
}

// reaches returns the destinations behind the cluster, of the project's Applications. The permitted Applications of
// the hub count, and the Applications in the works of the cluster.
func (f *Facts) reaches(o Options) (out []Reach) {
	for i := range f.Users {
		app := f.Users[i].App
		if spec := ReadSpec(app); f.Users[i].Permitted {
			out = append(out, reachOf(spec, app.Namespace != o.ArgoCDNamespace))
		}
	}
	specs, _ := f.carried()
	for _, spec := range specs {
		if spec.Project == f.Project.Name {
			out = append(out, reachOf(spec, true))
		}
	}
	return slices.DeleteFunc(out, func(r Reach) bool { return r.Destination == argocd.Destination{} })
}

// reachOf returns the destination of an Application with the spec. With named, only a project entry for the
// destination's name permits the destination.
func reachOf(spec Spec, named bool) Reach {
	return Reach{Elsewhere: authorization.Elsewhere{Destination: spec.Elsewhere, Named: named}, Namespace: spec.Namespace}
}

// reached returns the sorted entries of a project for the destinations.
func reached(p *argocd.AppProject, c authorization.Cluster, reaches []Reach) (out []argocd.ProjectDestination) {
	for _, r := range reaches {
		for _, namespace := range r.namespaces(p, c) {
			out = append(out, argocd.ProjectDestination{Name: r.Name, Server: r.Server, Namespace: namespace})
		}
	}
	slices.SortFunc(out, func(a, b argocd.ProjectDestination) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Namespace, b.Namespace))
	})
	return slices.Compact(out)
}

// namespaces returns the namespace patterns that the project permits at the destination. Argo CD ignores some
// patterns with "!" for a cluster known by name. For safety, a project with "!" permits only the Application's own
// namespace.
func (r Reach) namespaces(p *argocd.AppProject, c authorization.Cluster) (out []string) {
	if !r.Permits(p, c, r.Namespace) {
		return nil
	}
	if slices.ContainsFunc(p.Spec.Destinations, forbids) {
		if len(validation.IsDNS1123Label(r.Namespace)) > 0 {
			return nil
		}
		return []string{r.Namespace}
	}
	for _, d := range p.Spec.Destinations {
		if r.Matches(d) {
			out = append(out, d.Namespace)
		}
	}
	return out
}

// forbids reports whether an entry of a project has a "!" pattern.
func forbids(d argocd.ProjectDestination) bool {
	return slices.ContainsFunc([]string{d.Name, d.Server, d.Namespace}, authorization.Denies)
}

// addDestinations adds destinations to the spec of a project.
func addDestinations(spec fields, more []argocd.ProjectDestination) error {
	if len(more) == 0 {
		return nil
	}
	var all []json.RawMessage
	if raw, ok := spec["destinations"]; ok {
		if err := json.Unmarshal(raw, &all); err != nil {
			return err
		}
	}
	for _, d := range more {
		raw, err := json.Marshal(d)
		if err != nil {
			return err
		}
		all = append(all, raw)
	}
	raw, err := json.Marshal(all)
	spec["destinations"] = raw
	return err
}
