package tracing

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestNew(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for title, tc := range map[string]struct {
		env   map[string]string
		sends bool
		fails bool
	}{
		"no variable":               {},
		"an address":                {env: map[string]string{endpoint: "https://collector:4318"}, sends: true},
		"an address for traces":     {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector:4318/v1/traces"}, sends: true},
		"only a sampler":            {env: map[string]string{"OTEL_TRACES_SAMPLER": "always_on"}},
		"OpenTelemetry is disabled": {env: map[string]string{endpoint: "https://collector:4318", "OTEL_SDK_DISABLED": "true"}},
		"no exporter":               {env: map[string]string{endpoint: "https://collector:4318", "OTEL_TRACES_EXPORTER": "none"}},
		"gRPC":                      {env: map[string]string{endpoint: "https://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, fails: true},
	} {
		t.Run(title, func(t *testing.T) {
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			tracer, err := New(t.Context(), "v1.2.3", logr.Discard())
			if sends := tracer != nil; sends != tc.sends || (err != nil) != tc.fails {
				t.Errorf("New sends traces: %t, error: %v", sends, err)
			}
			tracer.Close(t.Context())
		})
	}
}

// TestCertificate: a collector with an unknown certificate gets no span, and the failures give a single message.
func TestCertificate(t *testing.T) {
	var requests, messages atomic.Int64
	collector := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	send := func() {
		tracer, err := New(t.Context(), "v1.2.3", funcr.New(func(_, _ string) { messages.Add(1) }, funcr.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			tracer.Begin(t.Context(), "", 0, Span{Name: "span", End: time.Now()})
			if err := tracer.provider.ForceFlush(t.Context()); err != nil {
				otel.Handle(err)
			}
		}
		tracer.Close(t.Context())
	}
	if send(); requests.Load() != 0 {
		t.Error("a collector with an unknown certificate got spans")
	}
	if n := messages.Load(); n != 1 {
		t.Errorf("three failures gave %d messages", n)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file)
	if send(); requests.Load() != 3 {
		t.Errorf("a collector with a known certificate got %d requests", requests.Load())
	}
}

// TestNoAddressInAnError: the query of the collector's address may be a credential.
func TestNoAddressInAnError(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces?key=secret")
	c, err := newClient()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.UploadTraces(t.Context(), nil); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v", err)
	}
}

func TestContinue(t *testing.T) {
	for title, tc := range map[string]struct {
		work       types.UID
		generation int64
		parts      int
		joins      int
	}{
		"a report of the generation":          {work: "uid", generation: 2, parts: 1, joins: 1},
		"a report of a later generation":      {work: "uid", generation: 3, parts: 1, joins: 1},
		"a report of an earlier generation":   {work: "uid", generation: 1, parts: 1},
		"a report of an unknown ManifestWork": {work: "other", generation: 2, parts: 1},
		"a flood of reports":                  {work: "uid", generation: 2, parts: 2 * MaxParts, joins: MaxParts},
	} {
		t.Run(title, func(t *testing.T) {
			exported, now := tracetest.NewInMemoryExporter(), time.Now()
			tracer := newTracer(sdktrace.WithSyncer(exported))
			tracer.Begin(t.Context(), "uid", 2, Span{Name: "first", Start: now.Add(-time.Second), End: now})
			for range tc.parts {
				tracer.Continue(t.Context(), tc.work, tc.generation, Span{Name: "report", End: now.Add(time.Second)})
			}
			first, reports := exported.GetSpans()[0], exported.GetSpans()[1:]
			if len(reports) != tc.joins {
				t.Fatalf("the trace has %d reports", len(reports))
			}
			for _, report := range reports {
				if report.Parent.SpanID() != first.SpanContext.SpanID() || !report.StartTime.Equal(now) {
					t.Errorf("the report %+v is no part of the delivery", report)
				}
			}
		})
	}
}

// TestSampler: a delivery without a sample has no span at all.
func TestSampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	spans := tracetest.NewInMemoryExporter()
	tracer := newTracer(sdktrace.WithSyncer(spans))
	const deliveries = 200
	for range deliveries {
		now := time.Now()
		tracer.Begin(t.Context(), "uid", 1, Span{Name: "first", Start: now, End: now})
		tracer.Continue(t.Context(), "uid", 1, Span{Name: "report", End: now})
	}
	counts := map[string]int{}
	for _, s := range spans.GetSpans() {
		counts[s.Name]++
	}
	if n := counts["first"]; n == 0 || n == deliveries || counts["report"] != n {
		t.Errorf("the spans of %d deliveries: %v", deliveries, counts)
	}
}

// TestErr: the message of an error may contain values of an object, and does not leave Towline.
func TestErr(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tracer := newTracer(sdktrace.WithSyncer(spans))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "manifestworks"}, "guestbook", errors.New("password"))
	for err, want := range map[error]string{errors.Join(forbidden, nil): "Forbidden", errors.New("password"): "Unknown"} {
		spans.Reset()
		tracer.Begin(t.Context(), "", 0, Span{Name: "span", End: time.Now(), Err: err})
		if got := spans.GetSpans()[0].Status.Description; got != want {
			t.Errorf("the status of %v is %q, not %q", err, got, want)
		}
	}
}
