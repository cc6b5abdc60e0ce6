package tracing

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
)

// Bounds of the memory and of the spans.
const (
	// Window is how long after the write of a ManifestWork the reports of the cluster belong to the trace of the delivery.
	Window = time.Hour

	// MaxParts is how many later parts a delivery's trace has.
	MaxParts = 50

	// remembered is how many deliveries a Tracer remembers.
	remembered = 20_000

	// closeTimeout is a part of the time between the end of the reconciles and the end of the pod's grace period.
	closeTimeout = 5 * time.Second

	// quiet is the time without further messages after a message about a failure.
	quiet = 10 * time.Minute
)

// Tracer sends spans.
type Tracer struct {
	provider   *sdktrace.TracerProvider
	tracer     trace.Tracer
	deliveries *cache.LRUExpireCache // by the UID of the ManifestWork
}

// New returns a Tracer with the settings of the environment variables OTEL_*, as the OpenTelemetry specification names
// them. The result is nil if the variables name no collector. Problems of the collector go to the log, and never stop
// Towline.
func New(ctx context.Context, version string, log logr.Logger) (*Tracer, error) {
	if off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); off || os.Getenv("OTEL_TRACES_EXPORTER") == "none" || setting("ENDPOINT") == "" {
		return nil, nil
	}
	seldom := rate.Sometimes{Interval: quiet}
	otel.SetLogger(log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		seldom.Do(func() { log.Error(err, "Sending traces failed", "silentFor", quiet.String()) })
	}))
	sender, err := newClient()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, sender)
	if err != nil {
		return nil, err
	}
	process, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "towline"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	return newTracer(sdktrace.WithBatcher(exporter), sdktrace.WithResource(process)), nil
}

func newTracer(options ...sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(options...)
	return &Tracer{provider, provider.Tracer("github.com/towline-io/towline"), cache.NewLRUExpireCache(remembered)}
}

// Close sends the remaining spans, for at most closeTimeout. ctx may have ended.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Span is a finished part of a trace.
type Span struct {
	// Name is the kind of the span, without the names of objects.
	Name string

	// Start is the begin. The zero value stands for the write of the ManifestWork.
	Start time.Time

	// End is the end.
	End time.Time

	// Err is the failure; nil for none. The trace contains the reason of the API server, without the message.
	Err error

	// Attributes describe the span.
	Attributes []attribute.KeyValue

	// Children are parts of the span.
	Children []Span
}

// delivery is a write of a ManifestWork.
type delivery struct {
	first      trace.SpanContext
	at         time.Time
	generation int64
	parts      atomic.Int64
}

// Begin sends the first span of a trace. The span ends with the write of the ManifestWork in the generation; the UID is
// empty for a failure before the write.
func (t *Tracer) Begin(ctx context.Context, work types.UID, generation int64, s Span) {
	first := t.send(ctx, s)
	if work != "" {
		t.deliveries.Add(work, &delivery{first: first, at: s.End, generation: generation}, Window)
	}
}

// Continue sends a later part of the ManifestWork's last delivery. It sends nothing for an unknown delivery, for an
// earlier generation, and after MaxParts.
func (t *Tracer) Continue(ctx context.Context, work types.UID, generation int64, s Span) {
	last, _ := t.deliveries.Get(work)
	if d, known := last.(*delivery); known && generation >= d.generation && d.parts.Add(1) <= MaxParts {
		s.Start = cmp.Or(s.Start, d.at)
		t.send(trace.ContextWithSpanContext(ctx, d.first), s)
	}
}

func (t *Tracer) send(ctx context.Context, s Span) trace.SpanContext {
	ctx, span := t.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithAttributes(s.Attributes...))
	for _, child := range s.Children {
		t.send(ctx, child)
	}
	if s.Err != nil {
		span.SetStatus(codes.Error, cmp.Or(string(apierrors.ReasonForError(s.Err)), "Unknown"))
	}
	span.End(trace.WithTimestamp(s.End))
	return span.SpanContext()
}

// Application returns the attributes of an Application. uid and cluster may be empty.
func Application(key types.NamespacedName, uid types.UID, cluster string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("towline.application.namespace", key.Namespace), attribute.String("towline.application.name", key.Name),
		attribute.String("towline.application.uid", string(uid)), attribute.String("towline.cluster", cluster),
	}
}
