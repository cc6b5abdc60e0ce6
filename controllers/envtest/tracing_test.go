package envtest_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis/argocd"
	_ "github.com/towline-io/towline/pkg/fixture/withoutcgo" // `go` runs in this test
	"github.com/towline-io/towline/pkg/tracing"
)

// TestTracing: a real collector gets a trace for each delivery, from the change on the hub to the status on the hub.
func TestTracing(t *testing.T) {
	collector := startCollector(t)
	tracer, err := tracing.New(t.Context(), "v1.2.3", logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Close(t.Context()) })
	startReplica(t, func(*ctrl.Options) {}, func(o *controllers.Options) { o.Tracer = tracer })
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	collector.expectDelivery(t, app, 0,
		"reconcile Application\n    create ManifestWork", "apply on cluster", "show status Healthy\n    patch Application")

	edit(t, app, func(app *argocd.Application) {
		app.Spec.Raw = bytes.ReplaceAll(app.Spec.Raw, []byte("HEAD"), []byte("v2"))
	})
	g := NewWithT(t)
	g.Eventually(func() string { return string(workOf(t, app).Spec.Workload.Manifests[0].Raw) }, soon, tick).Should(ContainSubstring("v2"))
	reportHeld(t, app, feedbackOf(app).String("healthStatus", "Progressing").String("syncStatus", "Synced"))
	expectHealth(t, app, "Progressing")
	reportHeld(t, app, feedbackOf(app).Healthy("b"))
	collector.expectDelivery(t, app, 1, "reconcile Application\n    update ManifestWork", "apply on cluster",
		"show status Progressing\n    patch Application", "show status Healthy\n    patch Application")
	t.Logf("the traces:\n%s", collector.waterfall(app))
}

// expectDelivery waits until the trace of the Application's delivery with the number has all spans.
func (c *collector) expectDelivery(t *testing.T, app *argocd.Application, number int, spans ...string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		traces := c.deliveries(app)
		g.Expect(traces).To(HaveLen(number + 1))
		for _, span := range spans {
			g.Expect(traces[number]).To(ContainSubstring("\n  " + span + "\n"))
		}
	}, soon, tick).Should(Succeed())
}

// collector is a process with the OTLP receiver of the OpenTelemetry Collector.
type collector struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

// Write implements io.Writer, for the output of the process.
func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines.Write(p)
}

// String returns the output of the process.
func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines.String()
}

// startCollector builds and starts a collector with a certificate, until the test ends. The standard variables name the
// collector.
func startCollector(t *testing.T) *collector {
	t.Helper()
	g, dir, out := NewWithT(t), t.TempDir(), &collector{}
	program, certificate, key := filepath.Join(dir, "collector"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if log, err := exec.CommandContext(t.Context(), "go", "-C", "../../.ci/tools/collector", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the collector: %v\n%s", err, log)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := listener.Addr().String()
	g.Expect(listener.Close()).To(Succeed())

	example := httptest.NewTLSServer(nil)
	example.Close()
	private, err := x509.MarshalPKCS8PrivateKey(example.TLS.Certificates[0].PrivateKey)
	g.Expect(err).NotTo(HaveOccurred())
	for file, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: example.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		g.Expect(os.WriteFile(file, pem.EncodeToMemory(block), 0o600)).To(Succeed())
	}
	process := exec.CommandContext(context.WithoutCancel(t.Context()), program, address, certificate, key)
	process.Stdout, process.Stderr = out, os.Stderr
	g.Expect(process.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		if err := process.Wait(); err != nil {
			t.Errorf("the collector: %v", err)
		}
	})
	g.Eventually(func() error {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	}, soon, tick).Should(Succeed())
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://"+address)
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	return out
}

// span is a span in OTLP JSON.
type span struct {
	TraceID    string `json:"traceId"`
	SpanID     string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string `json:"name"`
	Start      int64  `json:"startTimeUnixNano,string"`
	End        int64  `json:"endTimeUnixNano,string"`
	Attributes []struct {
		Key   string `json:"key"`
		Value struct {
			String string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
}

func (s *span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String
		}
	}
	return ""
}

// spans returns the received spans in the order of their starts.
func (c *collector) spans() (spans []span) {
	for line := range strings.Lines(c.String()) {
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if json.Unmarshal([]byte(line), &request) != nil {
			continue // the process still writes the line
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.Start, b.Start) })
	return spans
}

// deliveries returns the traces of the Application's deliveries as texts: a line for each span, indented below the
// parent.
func (c *collector) deliveries(app *argocd.Application) (traces []string) {
	c.walk(app, func(root, s *span, depth int) {
		if s == root {
			traces = append(traces, "")
		}
		name := strings.TrimSpace(s.Name + " " + s.attribute("towline.status.health"))
		traces[len(traces)-1] += strings.Repeat("  ", depth) + name + "\n"
	})
	return traces
}

// waterfall returns the traces of the Application's deliveries, with the begin and the duration of each span.
func (c *collector) waterfall(app *argocd.Application) string {
	var out strings.Builder
	c.walk(app, func(root, s *span, depth int) {
		began, took := time.Duration(s.Start-root.Start), time.Duration(s.End-s.Start)
		fmt.Fprintf(&out, "%-34s %9.1f ms %9.1f ms\n", strings.Repeat("  ", depth)+s.Name, 1e3*began.Seconds(), 1e3*took.Seconds())
	})
	return out.String()
}

// walk visits the traces of the Application's deliveries, each parent before the children.
func (c *collector) walk(app *argocd.Application, visit func(root, s *span, depth int)) {
	spans := c.spans()
	var visitAll func(root, s *span, depth int)
	visitAll = func(root, s *span, depth int) {
		visit(root, s, depth)
		for i := range spans {
			if spans[i].TraceID == s.TraceID && spans[i].Parent == s.SpanID {
				visitAll(root, &spans[i], depth+1)
			}
		}
	}
	for i := range spans {
		s := &spans[i]
		if s.Parent == "" && s.Name == "deliver Application" && s.attribute("towline.application.namespace") == app.Namespace {
			visitAll(s, s, 0)
		}
	}
}
