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
	// maxFailures is the maximum number of failures of one resource in a report. Failures on thousands of clusters
	// mostly have the same reason.
	maxFailures = 10

	// maxFailure is the maximum size of a failure's message in a report, in bytes. The hub Application has the full
	// message.
	maxFailure = 256
)

// Failure is a failed or missing resource of an Application.
type Failure struct {
	Ref            v1alpha1.ResourceRef
	State, Message string
}

// failuresOf returns the failed or missing resources of an Application.
func failuresOf(s *argocd.Status) []Failure {
	var out []Failure
	for _, p := range observed.Problems(s) {
		out = append(out, Failure{Ref: refOf(&p.Resource), State: p.State, Message: feedback.Clean(p.Message, maxFailure)})
	}
	return out
}

// failures are the failures of all Applications of a set, by resource. The number is the failure's index in
// Entry.Failures.
type failures map[v1alpha1.ResourceRef]map[*entry]int

// count adds (n = 1) or removes (n = -1) the failures of an entry.
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

// of returns a resource with its number of failures, and the first failures by cluster.
func (f failures) of(ref v1alpha1.ResourceRef) v1alpha1.ReportedResource {
	out := v1alpha1.ReportedResource{ResourceRef: ref, Failing: int32(len(f[ref]))} //nolint:gosec // as many as Applications
	for _, e := range firstByCluster(f[ref]) {
		failure := &e.Failures[f[ref][e]]
		out.Failures = append(out.Failures, v1alpha1.ResourceFailure{Cluster: e.Row.Cluster, State: failure.State, Message: failure.Message})
	}
	return out
}

// firstByCluster returns the first entries by cluster and name, at most maxFailures.
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
