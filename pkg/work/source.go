package work

import (
	"path"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/source"
)

// ReadsThroughHub returns whether the cluster of a work may read the Application's repositories through the hub.
func ReadsThroughHub(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationSources] != "" }

// RepositoriesOf returns the repositories of the addresses in a work. An address at the cluster's agent is left out if
// the hub's Application does not know the repository any more: towline-source does not serve such a repository. A work
// that names no repository has been closed or released, and then each address at the agent is left out.
func RepositoriesOf(w *workv1.ManifestWork, app *argocd.Application, agent string, addresses []string) (out []string) {
	known, names := source.KnownOf(app), source.ReadNames(w.Annotations[apis.AnnotationSources])
	named := func(address string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return path.Base(address) == name || path.Base(address) == source.Former(name) })
	}
	for _, address := range addresses {
		repo := known.Own(address)
		closed := len(names) == 0 && source.IsBelow(agent, address)
		if repo == address && (closed || named(address)) {
			continue
		}
		out = append(out, repo)
	}
	return out
}

// readDirectly gives the Application in a work the addresses of the repositories from the hub's Application, in place of
// the addresses at the cluster's agent. A nil app tells no address.
func readDirectly(w *workv1.ManifestWork, app *argocd.Application) error {
	delete(w.Annotations, apis.AnnotationSources)
	if app == nil {
		return nil
	}
	known := source.KnownOf(app)
	for i := range w.Spec.Workload.Manifests {
		m := &w.Spec.Workload.Manifests[i]
		if held := payload.Read(m.Raw); held == nil || len(held.Spec.Raw) == 0 {
			continue
		}
		raw, err := payload.ReadDirectly(m.Raw, known)
		if err != nil {
			return err
		}
		m.Raw = raw
	}
	return nil
}

// CloseSources ends the right of a cluster to read the Application's repositories through the hub, and reports whether
// the work had to change. The content of the work stays.
func CloseSources(w *workv1.ManifestWork) (*workv1.ManifestWork, bool) {
	if !ReadsThroughHub(w) {
		return w, false
	}
	out := w.DeepCopy()
	delete(out.Annotations, apis.AnnotationSources)
	return out, true
}

// CloseReads ends the right of a cluster to read some repositories of an AppProject through the hub, and reports whether the
// work had to change. The other repositories and the content of the work stay.
func CloseReads(w *workv1.ManifestWork, project string, repositories []string) (*workv1.ManifestWork, bool) {
	names := source.ReadNames(w.Annotations[apis.AnnotationSources])
	kept := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(repositories, func(repo string) bool { return name == source.Name(project, repo) })
	})
	if len(kept) == len(names) {
		return w, false
	}
	out := w.DeepCopy()
	out.Annotations[apis.AnnotationSources] = strings.Join(kept, ",")
	return out, true
}
