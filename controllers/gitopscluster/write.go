package gitopscluster

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// writers is how many Secrets of one GitOpsCluster are written at a time.
const writers = 8

// change is a Secret to write.
type change struct {
	cluster string

	// before is the Secret as the cache has it; nil when there is none.
	before *corev1.Secret
	after  *corev1.Secret
}

// write carries changes out, and returns the clusters for which that failed.
func (r *Reconciler) write(ctx context.Context, changes []change, o *outcome) (failed []string, err error) {
	var mu sync.Mutex
	var errs []error
	workqueue.ParallelizeUntil(ctx, writers, len(changes), func(i int) {
		err := r.writeOne(ctx, changes[i])
		mu.Lock()
		defer mu.Unlock()
		problem, ok := errors.AsType[*Problem](err)
		switch {
		case err == nil && changes[i].before == nil:
			o.created = append(o.created, changes[i].cluster)
			return
		case err == nil:
			return
		case ok:
			o.trouble(changes[i].cluster, problem)
		default:
			errs = append(errs, err)
		}
		failed = append(failed, changes[i].cluster)
	})
	return failed, errors.Join(append(errs, ctx.Err())...)
}

func (r *Reconciler) writeOne(ctx context.Context, c change) error {
	if c.before != nil {
		return writeProblem(r.patch(ctx, c.before, c.after), c.after)
	}
	err := r.Create(ctx, c.after)
	if apierrors.IsAlreadyExists(err) {
		return r.taken(ctx, c)
	}
	if err == nil {
		secretWrites.WithLabelValues("create").Inc()
	}
	return writeProblem(err, c.after)
}

// taken is for a name that the cache does not know and the API server does: the cache is behind, or the Secret has lost
// the labels by which it is found, or it is something else's.
func (r *Reconciler) taken(ctx context.Context, c change) error {
	live := &corev1.Secret{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(c.after), live); err != nil {
		return err
	}
	_, mine := live.Annotations[apis.AnnotationGitOpsClusters]
	if clustersecret.Cluster(live) == c.cluster {
		return errStale
	}
	if !mine {
		p := problemf(apis.ReasonSecretConflict, "Secret %s/%s is in the way and not Towline's: delete it or give it another name",
			live.Namespace, live.Name)
		return p.because(p)
	}
	after := live.DeepCopy()
	for _, key := range []string{apis.LabelSecretType, apis.LabelImported, apis.LabelClusterName} {
		if after.Labels == nil {
			after.Labels = map[string]string{}
		}
		after.Labels[key] = c.after.Labels[key]
	}
	return writeProblem(r.patch(ctx, live, after), after) // once it is found again, the rest is brought up to date
}

// patch writes what differs, if nobody has written meanwhile.
func (r *Reconciler) patch(ctx context.Context, before, after *corev1.Secret) error {
	err := r.Patch(ctx, after.DeepCopy(), client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err == nil {
		secretWrites.WithLabelValues("update").Inc()
	}
	return err
}

// writeProblem turns the API server's refusal of a Secret into a Problem; any other error is returned as it is.
func writeProblem(err error, s *corev1.Secret) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return problemf(apis.ReasonSecretRejected, "the hub refused Secret %s/%s: %v", s.Namespace, s.Name, err).because(err)
	}
	return err
}
