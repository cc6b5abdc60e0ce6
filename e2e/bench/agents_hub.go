package bench

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	return watch(ctx, a.bare, worksPath, failed, func(kind string, w *manifestWork) {
		switch {
		case kind == "DELETED":
		case w.DeletionTimestamp == "":
			saw(w)
		case slices.Contains(w.Finalizers, finalizer):
			go func() {
				if err := a.release(ctx, w); err != nil && ctx.Err() == nil {
					failed <- fmt.Errorf("end of the work %s of %s: %w", w.Name, w.Namespace, err)
				}
			}()
		}
	})
}

// release lets a work go that is deleted: what it had on the cluster is gone.
func (a hubAgents) release(ctx context.Context, w *manifestWork) error {
	others := slices.DeleteFunc(w.Finalizers, func(f string) bool { return f == finalizer })
	err := a.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name, object{"metadata": object{
		"finalizers": others, "resourceVersion": w.ResourceVersion,
	}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone, or there is another event of it
	}
	return err
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
