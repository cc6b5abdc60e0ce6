package dependencies

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/work"
)

// leadLimit bounds the time for works ahead of an Application. Argo CD repeats a sync ten seconds later, so the Application
// does not wait longer.
const leadLimit = 5 * time.Second

// Lead creates the missing works that go ahead of a new work of an Application; see dependency.Options.Ahead. Argo CD 3.5
// refuses an Application without its AppProject, and repeats an automated sync only ten seconds later. With the works in
// order, the AppProject usually reaches the cluster first: the work agent of Open Cluster Management 1.2 prepares new works
// one by one, and then applies ten works at the same time. Lead makes the same decision as the controller, and only creates.
// After an error, the work follows later, because the controller tries again.
func (r *Reconciler) Lead(ctx context.Context, w *workv1.ManifestWork) error {
	ctx, cancel := context.WithTimeout(ctx, leadLimit)
	defer cancel()
	var errs []error
	for _, key := range r.Options.Ahead(w) {
		missing, err := notCached(ctx, r.Client, key)
		if missing {
			// The Applications of an ApplicationSet arrive at the same time, and wait for the same works.
			_, err, _ = r.leading.Do(key.String(), func() (any, error) { return nil, r.createAhead(ctx, key) })
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// createAhead creates a work, if the decision about the work says so.
func (r *Reconciler) createAhead(ctx context.Context, key types.NamespacedName) error {
	now := time.Now()
	if r.led.left(key, now) > 0 {
		return nil
	}
	r.led.took(key, now, leadInterval)
	seen, err := r.observe(ctx, key)
	if err != nil {
		return err
	}
	plan, err := r.decide(ctx, seen)
	if err != nil || plan.Step == nil || plan.Step.Verb != work.VerbCreate {
		return err
	}
	_, err = r.write(ctx, plan.Step) // an existing work is newer than the observed facts
	return err
}
