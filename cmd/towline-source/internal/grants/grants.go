// Package grants decides which repositories a cluster may read: the repositories of the Applications that Towline
// delivers to the cluster at this moment, by the way through the hub.
package grants

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// A Grant is the permission of a cluster for a repository.
type Grant struct {
	// Name is the name of the repository for the cluster.
	Name string

	// Address is the address of the repository in the Application on the hub.
	Address string

	// Projects are the AppProjects of the Applications, sorted: a single AppProject, except for a former name. The
	// cluster's Argo CD has a single address for the name, so the credentials of all AppProjects must be the same.
	Projects []string

	// References are the full references in targetRevisions, for example "refs/pull/7/head", besides branches and tags, and Commits
	// the commits in targetRevisions.
	References, Commits []string
}

// Grants reads the grants from a cache with the index of Setup.
type Grants struct {
	client.Reader
}

// byName finds the works whose Application reads a repository of the name through the hub.
const byName = "source"

// Works returns an empty object for the metadata of works. Only metadata is read: the controller writes the names of the
// repositories into an annotation.
func Works() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(kind("ManifestWork"))
	return out
}

// kind returns the name of a kind in the API group of works.
func kind(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: workv1.GroupName, Version: workv1.GroupVersion.Version, Kind: name}
}

// Setup adds the index for Grants.
func Setup(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, Works(), byName, func(w client.Object) []string {
		var out []string
		for _, name := range source.ReadNames(w.GetAnnotations()[apis.AnnotationSources]) {
			out = append(out, name, source.Former(name))
		}
		return out
	})
}

// Of returns the grant of a cluster for the repository of the name, and whether the grant exists. A grant needs two
// facts on the hub. The controller has delivered an Application with the repository: the Application's work names the
// repository, and is not being deleted. The Application is on the hub, for this cluster, with the repository in the spec
// or in the history. The work has the name of the Application's own work, and no agent of a cluster may create works. For
// a former name, the grants of all AppProjects count.
func (g Grants) Of(ctx context.Context, cluster, name string) (Grant, bool, error) {
	grants, err := g.read(ctx, cluster, client.MatchingFields{byName: name})
	out := Grant{Name: name}
	for _, grant := range grants {
		if name == grant.Name || name == source.Former(grant.Name) {
			out.add(*grant)
		}
	}
	return out, len(out.Projects) > 0, err
}

// add adds the grant of a further Application or AppProject for the same repository.
func (g *Grant) add(more Grant) {
	g.Address = more.Address
	g.Projects = slices.Compact(slices.Sorted(slices.Values(append(g.Projects, more.Projects...))))
	g.References = append(g.References, more.References...)
	g.Commits = append(g.Commits, more.Commits...)
}

// All returns all grants of a cluster, each repository once, sorted by name.
func (g Grants) All(ctx context.Context, cluster string) ([]Grant, error) {
	grants, err := g.read(ctx, cluster)
	var out []Grant
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		out = append(out, *grants[name])
	}
	return out, err
}

// read returns the grants by the selected works of a cluster, by the name of the repository.
func (g Grants) read(ctx context.Context, cluster string, options ...client.ListOption) (map[string]*Grant, error) {
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(kind("ManifestWorkList"))
	if err := g.List(ctx, works, append(options, client.InNamespace(cluster), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	out := map[string]*Grant{}
	for i := range works.Items {
		grants, err := g.by(ctx, &works.Items[i])
		if err != nil {
			return nil, err
		}
		for _, grant := range grants {
			if known := out[grant.Name]; known != nil {
				known.add(grant)
			} else {
				out[grant.Name] = &grant
			}
		}
	}
	return out, nil
}

// sources returns the sources that a cluster may read if the Application's work names the repository: the sources in the
// spec, and, for a rollback, in the shown history. A false history permits nothing: the work has a hash of the address.
func sources(app *argocd.Application) []argocd.Source {
	out := source.Sources(app.Spec.Raw)
	for _, s := range source.History(app) {
		if !slices.ContainsFunc(out, func(known argocd.Source) bool { return known.RepoURL == s.RepoURL }) {
			out = append(out, s)
		}
	}
	return out
}

// by returns the grants by a work.
func (g Grants) by(ctx context.Context, w *metav1.PartialObjectMetadata) ([]Grant, error) {
	names := source.ReadNames(w.Annotations[apis.AnnotationSources])
	if len(names) == 0 {
		return nil, nil
	}
	app, err := g.delivered(ctx, w)
	if app == nil || err != nil {
		return nil, err
	}
	var out []Grant
	for _, s := range sources(app) {
		grant := Grant{Name: source.Name(app.Project(), s.RepoURL), Address: s.RepoURL, Projects: []string{app.Project()}}
		if !slices.Contains(names, grant.Name) {
			continue
		}
		if ref := source.Reference(s.TargetRevision); ref != "" {
			grant.References = []string{ref}
		}
		if source.IsCommit(s.TargetRevision) {
			grant.Commits = []string{s.TargetRevision}
		}
		out = append(out, grant)
	}
	return out, nil
}
