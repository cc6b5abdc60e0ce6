package bench

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// agents connect the work agents of all clusters to their works.
type agents interface {
	// follow calls saw for each work when its agent sees the work, from now on, until ctx ends. It sends an error that
	// ends the watch to failed.
	follow(ctx context.Context, failed chan<- error, saw func(*manifestWork)) error

	// take writes to a work as its agent does before the first apply. writes returns the number of API server writes in
	// take.
	take(ctx context.Context, w *manifestWork) error
	writes() float64

	// report writes the whole status of a work. heard returns whether the report has arrived when report returns.
	heard() bool
	report(ctx context.Context, w *manifestWork, status object) error
}

// hubAgents fetch works from the hub's API server.
type hubAgents struct{ bare *bare }

// finalizer is the finalizer of the work agent. The agent adds it to a work before the first apply.
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

// release removes the finalizer of a deleted work: the objects on the cluster are gone.
func (a hubAgents) release(ctx context.Context, w *manifestWork) error {
	others := slices.DeleteFunc(w.Finalizers, func(f string) bool { return f == finalizer })
	err := a.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name, object{"metadata": object{
		"finalizers": others, "resourceVersion": w.ResourceVersion,
	}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the work is gone, or a further event follows
	}
	return err
}

func (a hubAgents) take(ctx context.Context, w *manifestWork) error {
	return a.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name, object{"metadata": object{"finalizers": []string{finalizer}}})
}

func (hubAgents) writes() float64 { return 1 }

func (hubAgents) heard() bool { return true }

// report sends a merge patch of the status subresource.
func (a hubAgents) report(ctx context.Context, w *manifestWork, status object) error {
	return a.bare.patch(ctx, worksOf(w.Namespace)+"/"+w.Name+"/status", object{"status": status})
}
