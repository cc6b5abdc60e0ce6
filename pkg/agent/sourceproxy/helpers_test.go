package sourceproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
)

const password = "a-password-of-the-cluster"

// started is a running proxy, with a hub behind the proxy.
type started struct {
	*Proxy
	url    string
	hub    *httptest.Server
	client *http.Client
	clock  *clocktesting.FakePassiveClock
}

// start runs a proxy in front of a hub with the given handler.
func start(t *testing.T, hub http.HandlerFunc, edits ...func(*Proxy)) *started {
	t.Helper()
	s := &started{hub: httptest.NewTLSServer(hub), clock: clocktesting.NewFakePassiveClock(time.Now())}
	t.Cleanup(s.hub.Close)
	k, _, err := (&keys{password: password}).renewed(s.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	who := &identity{host: "127.0.0.1", clock: s.clock}
	who.set(k)
	address, err := url.Parse(s.hub.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Proxy = newProxy(Hub{Address: address, Transport: s.hub.Client().Transport, Namespace: "cluster1"}, who, logr.Discard())
	for _, edit := range edits {
		edit(s.Proxy)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(s.Proxy)
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	s.url = "https://" + listener.Addr().String()
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: s.trust(t, k.authorities), DisableKeepAlives: true}}
	return s
}

// trust returns the TLS settings of a client that trusts the authorities, at the time of the proxy's clock.
func (s *started) trust(t *testing.T, a authorities) *tls.Config {
	t.Helper()
	text, err := a.certificates()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: pool, Time: s.clock.Now, MinVersion: tls.VersionTLS12}
}

// request returns a request of Argo CD.
func (s *started) request(t *testing.T, method, path string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(Username, password)
	return r
}

// do returns the code and the text of the answer to a request.
func (s *started) do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// references asks for the references of a repository.
func (s *started) references(t *testing.T, repository string) (int, string) {
	t.Helper()
	return s.do(t, s.request(t, http.MethodGet, "/"+repository+"/info/refs?service=git-upload-pack", nil))
}

// command sends a command of version 2 of Git's protocol.
func (s *started) command(t *testing.T, repository, body string) (int, string) {
	t.Helper()
	r := s.request(t, http.MethodPost, "/"+repository+"/git-upload-pack", strings.NewReader(body))
	r.Header.Set("Git-Protocol", "version=2")
	return s.do(t, r)
}

// within fails the test if do does not return in time.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%s does not end", what)
	}
}
