package history

import (
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// maxSources is the maximum size of all sources in a shown history, in bytes: Argo CD repeats inline values in every
// entry.
const maxSources = 128 << 10

// origin is the source of an entry: one source, or a list of sources.
type origin struct {
	one  *argocd.Source
	list []argocd.Source
}

// Shown returns the entries of a cluster's history for the hub. An entry needs a source from one of the hub's
// specs of the Application, or from an entry already shown. Each returned entry gets the hub's copy of the source. All
// other fields are reported by the cluster.
func Shown(reported, shown []argocd.Deployment, specs ...[]byte) []argocd.Deployment {
	if len(reported) == 0 {
		return nil
	}
	known := origins(shown, specs)
	var out []argocd.Deployment
	for _, d := range reported {
		seen := origin{d.Source, d.Sources}
		if i := slices.IndexFunc(known, seen.is); i >= 0 {
			d.Source, d.Sources = known[i].one, known[i].list
			out = append(out, d)
		}
	}
	return newest(out)
}

// origins returns all known sources of the hub, from the shown history and from the specs.
func origins(shown []argocd.Deployment, specs [][]byte) []origin {
	var out []origin
	for i := range shown {
		if o := (origin{shown[i].Source, shown[i].Sources}); o.valid() {
			out = append(out, o)
		}
	}
	for _, spec := range specs {
		if o := ofSpec(spec); o.valid() {
			out = append(out, o)
		}
	}
	return out
}

// ofSpec returns the source of a spec, in the order of Argo CD (2.14 to 3.5); the zero value for an unreadable spec.
func ofSpec(raw []byte) origin {
	var spec struct {
		Source   *argocd.Source  `json:"source"`
		Sources  []argocd.Source `json:"sources"`
		Hydrator *hydrator       `json:"sourceHydrator"`
	}
	switch err := utiljson.Unmarshal(raw, &spec); {
	case err != nil:
		return origin{}
	case spec.Hydrator != nil:
		return origin{one: spec.Hydrator.synced()}
	case len(spec.Sources) > 0:
		return origin{list: spec.Sources}
	}
	return origin{one: spec.Source}
}

// hydrator holds the fields of a sourceHydrator with the place of the hydrated manifests.
type hydrator struct {
	Dry struct {
		RepoURL string `json:"repoURL"`
	} `json:"drySource"`
	Sync struct {
		RepoURL      string `json:"repoURL"`
		Path         string `json:"path"`
		TargetBranch string `json:"targetBranch"`
	} `json:"syncSource"`
}

// synced returns the source of the hydrated manifests.
func (h *hydrator) synced() *argocd.Source {
	out := &argocd.Source{RepoURL: h.Sync.RepoURL, Path: h.Sync.Path, TargetRevision: h.Sync.TargetBranch}
	if out.RepoURL == "" {
		out.RepoURL = h.Dry.RepoURL
	}
	return out
}

// valid reports whether an entry has either one source or a list. With both, Argo CD would choose.
func (o origin) valid() bool { return (o.one != nil) != (len(o.list) > 0) }

// is reports whether a reported origin matches an origin of the hub.
func (o origin) is(own origin) bool {
	if !o.valid() || (o.one == nil) != (own.one == nil) {
		return false
	}
	return o.one != nil && same(o.one, own.one) ||
		o.one == nil && slices.EqualFunc(o.list, own.list, func(a, b argocd.Source) bool { return same(&a, &b) })
}

// same reports whether a reported source matches a source of the hub. A report of an older agent has no digest, and
// does not cover rendering options: it matches only a source without options.
//
// A cluster that reads through the hub reports the address at its agent.
func same(reported, own *argocd.Source) bool {
	if reported.RepoURL != own.RepoURL && source.IsAt(reported.RepoURL, own.RepoURL) {
		there := source.Moved(*own, reported.RepoURL)
		own = &there
	}
	if reported.RepoURL != own.RepoURL || reported.Path != own.Path || reported.TargetRevision != own.TargetRevision ||
		reported.Chart != own.Chart || reported.Ref != own.Ref {
		return false
	}
	if reported.Digest == "" {
		return own.Whole == ""
	}
	return reported.Digest == Digest(own)
}

// newest returns the last entries within maxSources.
func newest(entries []argocd.Deployment) []argocd.Deployment {
	size := 0
	for i, d := range slices.Backward(entries) {
		if d.Source != nil {
			size += len(d.Source.Whole)
		}
		for n := range d.Sources {
			size += len(d.Sources[n].Whole)
		}
		if size > maxSources {
			return entries[i+1:]
		}
	}
	return entries
}
