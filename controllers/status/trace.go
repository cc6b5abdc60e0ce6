package status

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/tracing"
)

// trace sends a span from the cluster's report to the written status, as a part of the delivery that the work agent has
// applied. since is the time of the report; zero for a write without a report.
func (r *Reconciler) trace(ctx context.Context, w *workv1.ManifestWork, status *argocd.Status, since, began time.Time, err error) {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied)
	if r.Tracer == nil || c == nil {
		return
	}
	now := time.Now()
	s := tracing.Span{
		Name: "show status", Start: cmp.Or(since, began), End: now, Err: err,
		Attributes: []attribute.KeyValue{attribute.String("towline.status.health", status.Health.Status)},
		Children:   []tracing.Span{{Name: "patch Application", Start: began, End: now, Err: err}},
	}
	if status.Sync != nil {
		s.Attributes = append(s.Attributes, attribute.String("towline.status.sync", status.Sync.Status))
	}
	if status.OperationState != nil {
		s.Attributes = append(s.Attributes, attribute.String("towline.status.operation", status.OperationState.Phase))
	}
	r.Tracer.Continue(ctx, w.UID, c.ObservedGeneration, s)
}
