package propagation

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/tracing"
	"github.com/towline-io/towline/pkg/work"
)

// traced are the times and writes of a reconcile, for the trace; nil for no trace.
type traced struct {
	tracer         *tracing.Tracer
	changed, began time.Time // changed is the time of the Application's change, or else the begin of the reconcile
	plan           *delivery.Plan
	writes         []tracing.Span
	sent           *workv1.ManifestWork // the work with new content for the cluster; nil for none
	removed        bool                 // whether the reconcile removed a work
}

// decided notes the plan.
func (did *traced) decided(plan *delivery.Plan) {
	if did != nil {
		did.plan = plan
	}
}

// wroteWork notes a write of a work. The first new content for the cluster begins the trace of a delivery.
func (did *traced) wroteWork(ctx context.Context, seen *observation, s *delivery.Step, began time.Time, err error) {
	if did == nil {
		return
	}
	w, now := s.Target(), time.Now()
	did.writes = append(did.writes, tracing.Span{
		Name: string(s.Verb) + " ManifestWork", Start: began, End: now, Err: err, Attributes: []attribute.KeyValue{
			attribute.String("towline.work.namespace", w.Namespace), attribute.String("towline.work.name", w.Name),
			attribute.String("towline.work.uid", string(w.UID)), attribute.Int64("towline.work.generation", w.Generation),
		},
	})
	did.removed = did.removed || s.Verb == work.VerbDelete
	if err != nil || did.sent != nil || !sends(seen, s, w) ||
		s.Verb == work.VerbUpdate && equality.Semantic.DeepEqual(s.Was.Spec.Workload, w.Spec.Workload) {
		return
	}
	did.sent = w
	did.tracer.Begin(ctx, w.UID, w.Generation, did.first(seen, now))
}

// wroteApplication notes a patch of the Application.
func (did *traced) wroteApplication(began time.Time, err error) {
	if did != nil {
		did.writes = append(did.writes, tracing.Span{Name: "patch Application", Start: began, End: time.Now(), Err: err})
	}
}

// applied sends a span from the write of the own work until the work agent has applied the work.
func (did *traced) applied(ctx context.Context, seen *observation, now time.Time) {
	if did != nil {
		did.tracer.Continue(ctx, seen.Own.UID, seen.Own.Generation, tracing.Span{Name: "apply on cluster", End: now})
	}
}

// send sends the spans of a reconcile with writes or a failure. Without a delivery, a failure, a removal and a blocked
// Application have traces of their own.
func (did *traced) send(ctx context.Context, seen *observation, err error) {
	if did == nil || len(did.writes) == 0 && err == nil {
		return
	}
	now := time.Now()
	s, blocked := tracing.Span{Name: "reconcile Application", Start: did.began, End: now, Err: err, Children: did.writes}, ""
	if did.plan != nil {
		blocked = did.plan.Blocked()
		s.Attributes = []attribute.KeyValue{
			attribute.String("towline.decision.intent", string(did.plan.Intent)), attribute.String("towline.decision.reason", blocked),
		}
	}
	switch {
	case did.sent != nil:
		did.tracer.Continue(ctx, did.sent.UID, did.sent.Generation, s)
	case err != nil || blocked != "" || did.removed:
		first := did.first(seen, now)
		first.Err, first.Children = err, []tracing.Span{s}
		did.tracer.Begin(ctx, "", 0, first)
	case seen.Own != nil:
		did.tracer.Continue(ctx, seen.Own.UID, seen.Own.Generation, s)
	}
}

// first returns the first span of a trace, from the change of the Application.
func (did *traced) first(seen *observation, end time.Time) tracing.Span {
	s := tracing.Span{Name: "deliver Application", Start: did.changed, End: end, Attributes: tracing.Application(seen.Key, "", "")}
	if seen.App != nil {
		s.Attributes = tracing.Application(seen.Key, seen.App.UID, seen.App.Cluster())
	}
	return s
}
