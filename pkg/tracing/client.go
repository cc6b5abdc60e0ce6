package tracing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/rest"
)

// client sends spans by OTLP over HTTP. OpenTelemetry's own client links gRPC and its gateway.
type client struct {
	url     string
	headers http.Header
	http    *http.Client
}

var _ otlptrace.Client = &client{}

// setting returns the value of a variable for traces, or else for all signals.
func setting(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// newClient returns a client with the settings of the environment variables OTEL_EXPORTER_OTLP_*.
func newClient() (*client, error) {
	if protocol := cmp.Or(setting("PROTOCOL"), "http/protobuf"); protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not http/protobuf", protocol)
	}
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" {
		endpoint = strings.TrimSuffix(setting("ENDPOINT"), "/") + "/v1/traces"
	}
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is not an address like https://collector:4318")
	}
	timeout, err := strconv.Atoi(cmp.Or(setting("TIMEOUT"), "10000"))
	if err != nil || timeout <= 0 {
		return nil, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds")
	}
	c := &client{url: endpoint, headers: http.Header{"Content-Type": {"application/x-protobuf"}}}
	for header := range strings.SplitSeq(setting("HEADERS"), ",") {
		name, escaped, found := strings.Cut(header, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if err != nil || !found && header != "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a list like name=value,name=value")
		}
		if found {
			c.headers.Set(strings.TrimSpace(name), value)
		}
	}
	c.http, err = rest.HTTPClientFor(&rest.Config{Timeout: time.Duration(timeout) * time.Millisecond, TLSClientConfig: rest.TLSClientConfig{
		CAFile: setting("CERTIFICATE"), CertFile: setting("CLIENT_CERTIFICATE"), KeyFile: setting("CLIENT_KEY"),
	}})
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the headers may be credentials
	return c, nil
}

// Start implements otlptrace.Client.
func (*client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // equal to an encoded ExportTraceServiceRequest
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = c.headers.Clone()
	resp, err := c.http.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err // without the address, whose query may be a credential
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the connection can serve the next request
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the collector answers %s", resp.Status)
	}
	return nil
}
