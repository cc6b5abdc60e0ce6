package gitopscluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/clusterimport"
)

// writers is how many Secrets of one GitOpsCluster are written at a time.
const writers = 8

// met is what writing met that no fact had told of.
type met struct {
	// conflict is set when an object has changed since it was read.
	conflict bool

	// more is set when there is more to decide: after the GitOpsCluster was marked, or a Secret was refused. taken are
	// the clusters for whose Secrets the names are taken.
	more  bool
	taken []string
}

// apply makes the writes of a plan in their order, and goes no further than where one fails.
func (r *Reconciler) apply(ctx context.Context, seen *observation, plan clusterimport.Plan) (out met, err error) {
	if plan.Claim != nil {
		out.more = true
		return out, r.mark(ctx, seen, *plan.Claim, &out)
	}
	for _, stage := range plan.Stages {
		if err := r.writeAll(ctx, seen, stage, &out); err != nil || out.conflict || out.more {
			return out, err
		}
	}
	r.remember(seen.key, plan.Held)
	if err := r.publish(ctx, seen, plan); err != nil || plan.Release == nil {
		return out, err
	}
	return out, r.mark(ctx, seen, *plan.Release, &out)
}

// mark sets the marks of the GitOpsCluster, if nobody has written it meanwhile.
func (r *Reconciler) mark(ctx context.Context, seen *observation, marks clusterimport.Marks, out *met) error {
	before, after := seen.GitOpsCluster, seen.GitOpsCluster.DeepCopy()
	marks.Put(after)
	err := r.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err == nil {
		seen.GitOpsCluster = after
	}
	if out.conflict = apierrors.IsConflict(err) || apierrors.IsNotFound(err); out.conflict {
		return nil
	}
	return err
}

// publish writes the status, where it says something else, and then tells of it.
func (r *Reconciler) publish(ctx context.Context, seen *observation, plan clusterimport.Plan) error {
	if plan.Status != nil {
		after := seen.GitOpsCluster.DeepCopy()
		after.Status = *plan.Status
		if err := r.Status().Patch(ctx, after, client.MergeFrom(seen.GitOpsCluster)); err != nil {
			return client.IgnoreNotFound(err)
		}
		seen.GitOpsCluster = after
	}
	show(seen.GitOpsCluster)
	r.tell(seen, plan.Events)
	return nil
}

// writeAll makes the writes of a stage, notes what they met, and tells of those that were made.
func (r *Reconciler) writeAll(ctx context.Context, seen *observation, steps []clusterimport.Step, out *met) error {
	results := make([]error, len(steps))
	workqueue.ParallelizeUntil(ctx, writers, len(steps), func(i int) { results[i] = r.write(ctx, &steps[i]) })
	if err := ctx.Err(); err != nil {
		return err
	}
	var errs []error
	var done []clusterimport.Step
	for i := range steps {
		if results[i] == nil {
			done = append(done, steps[i])
		} else if err := out.note(seen, &steps[i], results[i]); err != nil {
			errs = append(errs, err)
		}
	}
	seen.Note(done)
	r.tell(seen, clusterimport.Done(seen.GitOpsCluster, done))
	return errors.Join(errs...)
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

// note sorts what a write met: what is a fact for another decision, and what is a failure.
func (out *met) note(seen *observation, s *clusterimport.Step, err error) error {
	switch {
	case apierrors.IsConflict(err), s.Verb == clusterimport.Update && apierrors.IsNotFound(err),
		s.Cluster == "" && apierrors.IsAlreadyExists(err):
		out.conflict = true // the cache is behind
		return nil
	case s.Removal:
		return fmt.Errorf("%s %s/%s: %w", s.Verb, s.Was.GetNamespace(), s.Was.GetName(), err)
	case s.Cluster == "":
		return err
	case apierrors.IsAlreadyExists(err):
		out.more, out.taken = true, append(out.taken, s.Cluster)
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		out.more = true
		if seen.Refused == nil {
			seen.Refused = map[string]string{}
		}
		seen.Refused[s.Cluster] = fmt.Sprintf("the hub refused Secret %s/%s: %v", s.Object.GetNamespace(), s.Object.GetName(), err)
		return nil
	}
	return err
}

// tell records events.
func (r *Reconciler) tell(seen *observation, all []clusterimport.Event) {
	for _, e := range all {
		r.Events.Eventf(seen.GitOpsCluster, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}
