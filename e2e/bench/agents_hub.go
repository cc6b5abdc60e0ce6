package bench

import (
	"context"
)

// agents is how the work agents of all clusters reach their works.
type agents interface {
	// follow tells of each work as its agent comes to see it, from now on, until ctx ends. An error that ends this goes to failed.
	follow(ctx context.Context, failed chan<- error, saw func(*manifestWork)) error

	// take does to a work what its agent does before it applies it, and writes is how many writes at the API server that takes.
	take(ctx context.Context, w *manifestWork) error
	writes() float64

	// report tells the status of a work: all of it. It is heard where that is known to have arrived once report returns.
	heard() bool
	report(ctx context.Context, w *manifestWork, status object) error
}

// hubAgents fetch their works from the hub's API server.
type hubAgents struct{ bare *bare }

// finalizer is the work agent's, which it puts on a work before it applies it.
const finalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"

func (a hubAgents) follow(ctx context.Context, failed chan<- error, saw func(*manifestWork)) error {
	return watch(ctx, a.bare, worksPath, failed, func(_ string, w *manifestWork) { saw(w) })
}

func (a hubAgents) take(ctx context.Context, w *manifestWork) error {
	return a.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name, object{"metadata": object{"finalizers": []string{finalizer}}})
}

func (hubAgents) writes() float64 { return 1 }

func (hubAgents) heard() bool { return true }

// report makes one merge patch of the subresource.
func (a hubAgents) report(ctx context.Context, w *manifestWork, status object) error {
	return a.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name+"/status", object{"status": status})
}
