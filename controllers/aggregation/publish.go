package aggregation

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// errGone means: the report was deleted since the last read, for example together with its ApplicationSet.
var errGone = errors.New("the report is not there any more")

// write updates the report if the rows differ. No report is created for a missing or deleted ApplicationSet. The
// garbage collector would delete such a report, and the deletion event would create the report again. The Applications
// of the set may exist for long, while they wait for their clusters.
func (r *Reconciler) write(ctx context.Context, key types.NamespacedName, s *set) error {
	before := s.published
	owner, err := r.owner(ctx, r, key)
	if err == nil && owner != "" && !before.exists() { // the cache may not know the deletion yet
		owner, err = r.owner(ctx, r.Live, key)
	}
	if err != nil {
		return err
	}
	if owner == "" && !before.exists() || !s.dirty && before.mayStayWith(owner) {
		return nil
	}
	desired := s.rows.Build(key, owner, report.MaxBytes)
	if owner == "" {
		desired.OwnerReferences = before.meta.OwnerReferences
	}
	s.omitted = s.rows.Len() - len(desired.Statuses.ClusterConditions)
	digest := report.DigestOf(desired)
	if before.exists() && before.current && before.digest == digest {
		s.dirty = false
		return nil
	}
	report.Publish(desired, before.conditions, before.meta.Generation, metav1.Now()) // a schema with conditions needs their times
	same, err := r.sameOnceDropped(ctx, desired, before)
	if err != nil {
		return err
	}
	if same {
		before.digest, before.current, before.conditions = digest, true, desired.Status.Conditions
		s.dirty = false
		return nil
	}
	began := time.Now()
	now, err := r.send(ctx, desired, s)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the Applications are being deleted too
	}
	if before.exists() && hub.IsAbsent(err) {
		return errGone
	}
	if err != nil {
		return err
	}
	now.digest = digest
	s.published, s.dirty = now, false
	s.pay(time.Now(), cost(s.size, time.Since(began), r.memory.busy()))
	r.tell(key, before, now)
	return nil
}

// owner returns the UID of the ApplicationSet in the given reader; empty if the ApplicationSet is missing or being
// deleted.
func (r *Reconciler) owner(ctx context.Context, from client.Reader, key types.NamespacedName) (types.UID, error) {
	set, err := r.sets.Get(ctx, from, key)
	if set == nil || err != nil || !set.DeletionTimestamp.IsZero() {
		return "", err
	}
	return set.UID, nil
}

// send creates or updates the report, and returns the stored report. A full update is nearly twice as fast on the API
// server as a patch. A patch must first be applied to an equally large object.
func (r *Reconciler) send(ctx context.Context, desired *v1alpha1.MulticlusterApplicationSetReport, s *set) (*published, error) {
	conditions := slices.Clone(desired.Status.Conditions)
	s.size = report.Size(desired)
	var operation string
	var err error
	if before := s.published; before.exists() {
		operation = "update"
		report.Over(desired, &before.meta)
		err = r.Update(ctx, desired)
	} else {
		operation = "create"
		err = r.Create(ctx, desired)
	}
	if err != nil {
		return nil, err
	}
	r.noteSchema(desired)
	reportWrites.WithLabelValues(operation).Inc()
	ctrl.LoggerFrom(ctx).V(1).Info("Wrote the report", "operation", operation, "bytes", s.size)
	now := &published{meta: *kept(desired), ours: true, current: true, conditions: conditions}
	if narrow, _ := r.schema.state(); narrow {
		now.cut = report.DigestOf(desired)
	}
	return now, nil
}

// tell records events on the report about the state of the set.
func (r *Reconciler) tell(key types.NamespacedName, before, now *published) {
	about := metadata(key)
	about.UID, about.ResourceVersion = now.meta.UID, now.meta.ResourceVersion
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
