package gitopscluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
)

// writers is how many Secrets of one GitOpsCluster are written at a time.
const writers = 8

// apply makes the writes of a plan in their order, and goes no further than where one fails.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan *clusterimport.Plan) (loop.Outcome, error) {
	if plan.Claim != nil {
		if outcome, err := r.mark(ctx, seen, *plan.Claim); err != nil || outcome != loop.Done {
			return outcome, err
		}
		return loop.Learned, nil
	}
	for _, stage := range plan.Stages {
		if outcome, err := r.writeAll(ctx, seen, stage); err != nil || outcome != loop.Done {
			return outcome, err
		}
	}
	r.remember(seen.key, plan.Held)
	if outcome, err := r.publish(ctx, seen, plan); err != nil || outcome != loop.Done || plan.Release == nil {
		return outcome, err
	}
	return r.mark(ctx, seen, *plan.Release)
}

// mark sets the marks of the GitOpsCluster, if nobody has written it meanwhile.
func (r *Reconciler) mark(ctx context.Context, seen *observation, marks clusterimport.Marks) (loop.Outcome, error) {
	after := seen.GitOpsCluster.DeepCopy()
	marks.Put(after)
	err := r.Patch(ctx, after, client.MergeFromWithOptions(seen.GitOpsCluster, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return loop.Conflict, nil
	}
	if err == nil {
		seen.GitOpsCluster = after
	}
	return loop.Done, err
}

// publish writes the status, where it says something else and nobody has written the GitOpsCluster meanwhile, and then tells of it.
// The marks that are released after it are bound to the version that this leaves behind.
func (r *Reconciler) publish(ctx context.Context, seen *observation, plan *clusterimport.Plan) (loop.Outcome, error) {
	if plan.Status != nil {
		after := seen.GitOpsCluster.DeepCopy()
		after.Status = *plan.Status
		err := r.Status().Patch(ctx, after, client.MergeFromWithOptions(seen.GitOpsCluster, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return loop.Conflict, nil
		}
		if err != nil {
			return loop.Done, err
		}
		seen.GitOpsCluster = after
		r.learn(seen, plan.Status)
	}
	if r.stood.note(seen.key, plan.StandsBack); plan.StandsBack != "" {
		forget(seen.key) // what another controller says of it is not Towline's to show
	} else {
		show(seen.GitOpsCluster, plan.Clusters)
	}
	r.tell(seen, plan.Events)
	return loop.Done, nil
}

// learn notes whether the API server keeps all of a status that was written: another product may bring its CRD at any time, or take
// it away.
func (r *Reconciler) learn(seen *observation, written *v1beta1.GitOpsClusterStatus) {
	if written.Clusters == nil {
		return
	}
	pruned := clusterimport.IsPruned(written, &seen.GitOpsCluster.Status)
	r.pruned.Store(pruned)
	if told := r.told.Swap(pruned); pruned && !told {
		r.tell(seen, []clusterimport.Event{clusterimport.Pruning()})
	}
}

// writeAll makes the writes of a stage, notes what they met, and tells of those that were made.
func (r *Reconciler) writeAll(ctx context.Context, seen *observation, steps []clusterimport.Step) (loop.Outcome, error) {
	results := make([]error, len(steps))
	workqueue.ParallelizeUntil(ctx, writers, len(steps), func(i int) { results[i] = r.write(ctx, &steps[i]) })
	if err := ctx.Err(); err != nil {
		return loop.Done, err
	}
	outcome := loop.Done
	var done []clusterimport.Step
	var taken []string
	var errs []error
	for i := range steps {
		s, err := &steps[i], results[i]
		switch {
		case err == nil:
			done = append(done, *s)
		case isBehind(s, err):
			outcome = loop.Conflict
		case s.Imports() && apierrors.IsAlreadyExists(err):
			taken = append(taken, s.Cluster)
		case s.Imports() && loop.IsRefusal(err):
			seen.NoteRefused(s, err)
			outcome = cmp.Or(outcome, loop.Learned)
		default:
			errs = append(errs, fmt.Errorf("%s %T %s/%s: %w", s.Verb, s.Target(), s.Target().GetNamespace(), s.Target().GetName(), err))
		}
	}
	seen.Note(done)
	r.tell(seen, clusterimport.Done(seen.GitOpsCluster, done))
	if len(taken) > 0 {
		errs = append(errs, r.observeTaken(ctx, seen, taken))
		outcome = cmp.Or(outcome, loop.Learned)
	}
	return outcome, errors.Join(errs...)
}

// isBehind tells whether a write met another object than the cache has.
func isBehind(s *clusterimport.Step, err error) bool {
	return apierrors.IsConflict(err) || s.Verb == clusterimport.Update && apierrors.IsNotFound(err) ||
		!s.Imports() && apierrors.IsAlreadyExists(err)
}

// write makes one write, if nobody has written the object meanwhile. Rights to the generator's objects are to replace them.
func (r *Reconciler) write(ctx context.Context, s *clusterimport.Step) (err error) {
	switch s.Verb {
	case clusterimport.Create:
		err = r.Create(ctx, s.Object)
	case clusterimport.Update:
		if s.Cluster == "" {
			err = r.Update(ctx, s.Object)
		} else {
			err = r.Patch(ctx, s.Object, client.MergeFromWithOptions(s.Was, client.MergeFromWithOptimisticLock{}))
		}
	case clusterimport.Delete: // exactly the object that was read, not one that has taken its name since
		uid, version := s.Was.GetUID(), s.Was.GetResourceVersion()
		err = client.IgnoreNotFound(r.Delete(ctx, s.Was, client.Preconditions{UID: &uid, ResourceVersion: &version}))
	}
	if err == nil && s.Cluster != "" {
		secretWrites.WithLabelValues(string(s.Verb)).Inc()
	}
	return err
}

// tell records events.
func (r *Reconciler) tell(seen *observation, all []clusterimport.Event) {
	for _, e := range all {
		r.Events.Eventf(seen.GitOpsCluster, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}
