package report

import (
	"cmp"
	"slices"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/observed"
)

const (
	// maxFailures is how many failures of one resource a report shows. Where it fails on thousands of clusters, it mostly does
	// so for one reason.
	maxFailures = 10

	// maxFailure is how many bytes of a failure's message a report shows. The hub Application has the rest.
	maxFailure = 256
)

// Failure is a resource of an Application that failed or is missing.
type Failure struct {
	Ref            v1alpha1.ResourceRef
	State, Message string
}

// failuresOf are what failed or is missing of an Application's resources.
func failuresOf(s *argocd.Status) []Failure {
	var out []Failure
	for _, p := range observed.Problems(s) {
		out = append(out, Failure{Ref: refOf(&p.Resource), State: p.State, Message: feedback.Clean(p.Message, maxFailure)})
	}
	return out
}

// failures are those of all Applications of a set, by what failed. Of each the number is the place in its entry's list.
type failures map[v1alpha1.ResourceRef]map[*entry]int

// count takes up or drops those of an entry; n is 1 or -1.
func (f failures) count(e *entry, n int) {
	for i := range e.Failures {
		ref := e.Failures[i].Ref
		of := f[ref]
		switch {
		case n < 0:
			delete(of, e)
		case of == nil:
			f[ref] = map[*entry]int{e: i}
		default:
			of[e] = i
		}
		if n < 0 && len(of) == 0 {
			delete(f, ref)
		}
	}
}

// of is a resource with how often it failed, and the first failures by cluster.
func (f failures) of(ref v1alpha1.ResourceRef) v1alpha1.ReportedResource {
	out := v1alpha1.ReportedResource{ResourceRef: ref, Failing: int32(len(f[ref]))} //nolint:gosec // as many as Applications
	for _, e := range firstByCluster(f[ref]) {
		failure := &e.Failures[f[ref][e]]
		out.Failures = append(out.Failures, v1alpha1.ResourceFailure{Cluster: e.Row.Cluster, State: failure.State, Message: failure.Message})
	}
	return out
}

// firstByCluster are as many entries as a report shows failures, those that are first by cluster and name.
func firstByCluster(of map[*entry]int) []*entry {
	first := make([]*entry, 0, maxFailures+1)
	for e := range of {
		at, _ := slices.BinarySearchFunc(first, e, func(a, b *entry) int {
			return cmp.Or(
				cmp.Compare(a.Row.Cluster, b.Row.Cluster),
				cmp.Compare(a.key.Namespace, b.key.Namespace),
				cmp.Compare(a.key.Name, b.key.Name),
			)
		})
		if at < maxFailures {
			first = slices.Insert(first, at, e)
			first = first[:min(len(first), maxFailures)]
		}
	}
	return first
}
