package aggregation

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// write makes the report say what is known, if it says something else.
func (r *Reconciler) write(ctx context.Context, key types.NamespacedName, s *set) error {
	if !s.dirty {
		return nil
	}
	desired := s.rows.Build(key, r.MaxBytes)
	s.omitted = s.rows.Len() - len(desired.Statuses.ClusterConditions)
	digest := report.DigestOf(desired)
	before := s.published
	if before.exists() && before.current && before.digest == digest {
		s.dirty = false
		return nil
	}
	report.Publish(desired, before.conditions, before.generation, metav1.Now())
	now, err := r.send(ctx, desired, s)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the Applications are on their way out too
	}
	if err != nil {
		return err
	}
	now.digest, now.ours, now.current, now.conditions = digest, true, true, desired.Status.Conditions
	s.published, s.written, s.dirty = now, time.Now(), false
	r.tell(key, before, now)
	return nil
}

// send creates or patches the report, and returns what there is then.
func (r *Reconciler) send(ctx context.Context, desired *v1alpha1.MulticlusterApplicationSetReport, s *set) (*published, error) {
	operation, to := "create", client.Object(desired)
	var err error
	conditions := desired.Status.Conditions
	if before := s.published; before.exists() {
		operation, to = "update", metadata(client.ObjectKeyFromObject(desired))
		patch := report.Patch(desired, before.version)
		s.size = len(patch)
		err = r.Patch(ctx, to, client.RawPatch(types.MergePatchType, patch))
	} else {
		s.size = report.Size(desired)
		err = r.Create(ctx, desired)
	}
	if err != nil {
		return nil, err
	}
	desired.Status.Conditions = conditions
	reportWrites.WithLabelValues(operation).Inc()
	ctrl.LoggerFrom(ctx).V(1).Info("Wrote the report", "operation", operation, "bytes", s.size)
	return &published{uid: to.GetUID(), version: to.GetResourceVersion(), generation: to.GetGeneration()}, nil
}

// tell records what has become of the set where people look for it.
func (r *Reconciler) tell(key types.NamespacedName, before, now *published) {
	about := metadata(key)
	about.UID, about.ResourceVersion = now.uid, now.version
	for _, t := range []struct {
		condition, event string
		status           metav1.ConditionStatus
	}{
		{apis.ConditionReady, corev1.EventTypeNormal, metav1.ConditionTrue},
		{apis.ConditionComplete, corev1.EventTypeWarning, metav1.ConditionFalse},
	} {
		c := meta.FindStatusCondition(now.conditions, t.condition)
		if c.Status == t.status && !meta.IsStatusConditionPresentAndEqual(before.conditions, t.condition, t.status) {
			r.Events.Eventf(about, nil, t.event, c.Reason, "Report", "%s", c.Message)
		}
	}
}
