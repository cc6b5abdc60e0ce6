package history

import (
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// maxSources is how many bytes the sources of a shown history may have: Argo CD repeats inline values in every entry.
const maxSources = 128 << 10

// origin is what an entry deployed: one source, or a list of sources.
type origin struct {
	one  *argocd.Source
	list []argocd.Source
}

// Shown are the entries of a cluster's history that the hub shows: those with a source of the hub's spec, or of an entry that the
// hub shows already. Each gets the hub's copy of its source. All else in an entry is the word of the cluster.
func Shown(reported, shown []argocd.Deployment, spec []byte) []argocd.Deployment {
	if len(reported) == 0 {
		return nil
	}
	known := origins(shown, spec)
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

// origins are all that is or was in the hub's spec, as far as the hub remembers it.
func origins(shown []argocd.Deployment, spec []byte) []origin {
	var out []origin
	for i := range shown {
		if o := (origin{shown[i].Source, shown[i].Sources}); o.valid() {
			out = append(out, o)
		}
	}
	if o := ofSpec(spec); o.valid() {
		out = append(out, o)
	}
	return out
}

// ofSpec is what a spec deploys, in the order in which Argo CD (2.14 to 3.5) looks; the zero value for a spec that cannot be read.
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

// hydrator is a sourceHydrator, as far as it says where the hydrated manifests are.
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

// synced is where Argo CD takes the hydrated manifests from.
func (h *hydrator) synced() *argocd.Source {
	out := &argocd.Source{RepoURL: h.Sync.RepoURL, Path: h.Sync.Path, TargetRevision: h.Sync.TargetBranch}
	if out.RepoURL == "" {
		out.RepoURL = h.Dry.RepoURL
	}
	return out
}

// valid tells whether an entry has one source or several, and not both: Argo CD would choose.
func (o origin) valid() bool { return (o.one != nil) != (len(o.list) > 0) }

// is tells whether a reported origin is one of the hub's.
func (o origin) is(own origin) bool {
	if !o.valid() || (o.one == nil) != (own.one == nil) {
		return false
	}
	return o.one != nil && same(o.one, own.one) ||
		o.one == nil && slices.EqualFunc(o.list, own.list, func(a, b argocd.Source) bool { return same(&a, &b) })
}

// same tells whether a reported source is one of the hub's. A report without a digest, of an older agent, says nothing of
// rendering options: it fits a source without any.
func same(reported, own *argocd.Source) bool {
	if reported.RepoURL != own.RepoURL || reported.Path != own.Path || reported.TargetRevision != own.TargetRevision ||
		reported.Chart != own.Chart || reported.Ref != own.Ref {
		return false
	}
	if reported.Digest == "" {
		return own.Whole == ""
	}
	return reported.Digest == Digest(own)
}

// newest are the last entries, as many as may be shown.
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
