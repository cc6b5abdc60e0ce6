package suite

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-io/towline/e2e/towline"
)

// slowHub passes requests to the hub with the identity of a cluster's agent, and reads each answer slowly.
type slowHub struct {
	*httptest.Server

	mu    sync.Mutex
	began time.Time
}

// The pace of a slowHub: 64 KiB in 150 ms.
const (
	slowPart = 64 << 10
	slowTick = 150 * time.Millisecond
)

// newSlowHub returns a slowHub, which ends with the spec.
func newSlowHub(agentOf string) *slowHub {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", towline.AddOnKubeconfig(f, agentOf))
	Expect(err).NotTo(HaveOccurred())
	trust, err := rest.TLSConfigFor(config)
	Expect(err).NotTo(HaveOccurred())
	to, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	// With a small window, the hub's API server waits for the reader.
	transport := &http.Transport{TLSClientConfig: trust, Protocols: protocols, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: slowPart}}
	DeferCleanup(transport.CloseIdleConnections)
	s := &slowHub{}
	s.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport, FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			r.Body = &slowBody{ReadCloser: r.Body, hub: s, request: r.Request}
			return nil
		},
	})
	DeferCleanup(s.Close)
	return s
}

// first returns the time of the first byte of the first long answer.
func (s *slowHub) first() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

// slowBody is the body of an answer.
type slowBody struct {
	io.ReadCloser
	hub     *slowHub
	request *http.Request
	began   time.Time
	bytes   int
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), slowPart)])
	if b.began.IsZero() {
		b.began = time.Now()
	}
	before := b.bytes
	if b.bytes += n; before < 1<<20 && b.bytes >= 1<<20 {
		b.hub.mu.Lock()
		b.hub.began = b.began
		b.hub.mu.Unlock()
	}
	if before/slowPart < b.bytes/slowPart {
		select {
		case <-time.After(slowTick):
		case <-b.request.Context().Done():
			return n, b.request.Context().Err()
		}
	}
	return n, err
}

// longestRequest returns the time of the longest ended request to a path of the hub, by the audit log.
func longestRequest(path string) (longest time.Duration) {
	GinkgoHelper()
	for line := range audited() {
		var e struct {
			RequestURI, Stage                        string
			RequestReceivedTimestamp, StageTimestamp metav1.MicroTime
		}
		Expect(json.Unmarshal(line, &e)).To(Succeed())
		if strings.HasPrefix(e.RequestURI, path) && e.Stage == "ResponseComplete" {
			longest = max(longest, e.StageTimestamp.Sub(e.RequestReceivedTimestamp.Time))
		}
	}
	return longest
}
