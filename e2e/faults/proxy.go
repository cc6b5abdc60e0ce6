package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
)

// delay is the delay of a write with the fault Delayed.
const delay = 5 * time.Second

// A Proxy stands between Towline and the hub's API server.
type Proxy struct {
	server  *http.Server
	forward *httputil.ReverseProxy
	address string
	cert    []byte
	watches *watches
	scripts *scripts
	traffic *traffic

	// behind is an API server that does not know the latest writes, for reads that may be outdated; nil for none.
	behind *url.URL

	// agent is set if Towline's agent uses the proxy.
	agent bool

	// replica is the name of the replica that uses the proxy, and ledger records its writes; nil for no record.
	replica string
	ledger  *ledger

	mu   sync.Mutex
	open map[net.Conn]bool
	away bool
}

// scripts are the scripts of all points, by their ids.
type scripts struct {
	mu sync.Mutex
	of map[string]*script
}

// NewProxy starts a proxy for the API server of a client configuration. The proxy has its own certificate, and no
// identity: it forwards the client's token.
func NewProxy(upstream *rest.Config) (*Proxy, error) {
	target, err := url.Parse(upstream.Host)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(upstream.CAData)
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("the proxy's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		address: "https://" + listener.Addr().String(), cert: cert, scripts: &scripts{of: map[string]*script{}}, traffic: newTraffic(),
		watches: &watches{}, open: map[net.Conn]bool{},
	}
	silent := log.New(io.Discard, "", 0) // the log would contain each cut connection
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if p.behind != nil && mayBeOld(r.In) {
				r.SetURL(p.behind)
			} else {
				r.SetURL(target)
			}
			inLines(r.Out)
		},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		ErrorLog:  silent, FlushInterval: -1, ModifyResponse: func(r *http.Response) error { return p.watches.meet(r) },
		// If the API server is unreachable, the proxy answers nothing.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{
		Handler: p, ConnState: p.connection, ErrorLog: silent, ReadHeaderTimeout: time.Minute, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 2000},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // the server ends with Close
	return p, nil
}

// Close stops the proxy.
func (p *Proxy) Close() { _ = p.server.Close() }

// Kubeconfig writes a copy of a kubeconfig, with the proxy in place of the server.
func (p *Proxy) Kubeconfig(path, to string) error {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return err
	}
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthority, c.CertificateAuthorityData = p.address, "", p.cert
	}
	return clientcmd.WriteToFile(*config, to)
}

// connection records the open connections, and closes new connections while the API server is away.
func (p *Proxy) connection(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		delete(p.open, c)
	case state == http.StateNew && p.away:
		_ = c.Close() // the client gets no answer
	case state == http.StateNew:
		p.open[c] = true
	}
}

// cutOff closes all connections, and refuses new connections until the API server is back.
func (p *Proxy) cutOff(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
	if away {
		for c := range p.open {
			_ = c.Close() // the client gets no answer
		}
	}
}

// follow registers a script for a point, until forget. The faults apply either to the writes of Towline's agent, or to
// the writes of all other processes.
func (p *Proxy) follow(id string, faults map[int]Kind, agent bool) *script {
	s := &script{faults: faults, agent: agent}
	p.scripts.mu.Lock()
	defer p.scripts.mu.Unlock()
	p.scripts.of[id] = s
	return s
}

func (p *Proxy) forget(id string) {
	p.scripts.mu.Lock()
	defer p.scripts.mu.Unlock()
	delete(p.scripts.of, id)
}

// script returns the script of a point, or nil without a script.
func (p *Proxy) script(id string) *script {
	p.scripts.mu.Lock()
	defer p.scripts.mu.Unlock()
	return p.scripts.of[id]
}

// ServeHTTP forwards a request, or applies the fault of its point's script.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	if r.Method != http.MethodGet {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if p.behind != nil && r.URL.Query().Get("sendInitialEvents") != "" {
		answerStatus(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is not served here")
		return
	}
	seen := read(r, body)
	defer p.traffic.begins(&seen)()
	if p.ledger != nil && r.Method != http.MethodGet {
		answer := &answer{ResponseWriter: w}
		if told := p.ledger.arrives(p.replica, &seen, body); seen.lease() {
			answer.before = told // a new leader may write directly after this answer
		} else {
			defer told(answer)
		}
		w = answer
	}
	var s *script
	if seen.point != "" {
		s = p.script(seen.point)
	}
	if s != nil && s.agent != p.agent {
		s.note(seen.site())
		s = nil
	}
	if s == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	p.meet(w, r, s, s.next(seen.site()))
}

// meet applies a fault to a write.
func (p *Proxy) meet(w http.ResponseWriter, r *http.Request, s *script, kind Kind) {
	carriedOut := r.Clone(context.WithoutCancel(r.Context()))
	carry := func() {
		if kind.carriedOut() {
			p.forward.ServeHTTP(&nobody{header: http.Header{}}, carriedOut)
		}
	}
	if kind.kills() {
		s.hold(carry)
		<-r.Context().Done() // the process has been killed
		panic(http.ErrAbortHandler)
	}
	carry()
	switch kind {
	case Cut:
		panic(http.ErrAbortHandler)
	case Delayed:
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
		p.forward.ServeHTTP(w, r)
	case "":
		p.forward.ServeHTTP(w, r)
	default:
		refuse(w, kind)
	}
}

// refuse answers as an API server that refuses the request, or cannot process it.
func refuse(w http.ResponseWriter, kind Kind) {
	if kind == Throttled {
		w.Header().Set("Retry-After", "1")
	}
	answerStatus(w, refusals[kind].code, refusals[kind].reason, "a fault of the test")
}

func answerStatus(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, reason, code)
}

// mayBeOld reports whether the API server may answer with an outdated state: lists with version 0, and watches. Lists
// through a watch must be current. The proxy refuses such lists, like an API server of a version without them.
func mayBeOld(r *http.Request) bool {
	query := r.URL.Query()
	return r.Method == http.MethodGet && (query.Get("watch") != "" || query.Get("resourceVersion") == "0")
}

// nobody discards an answer.
type nobody struct{ header http.Header }

// Header, Write and WriteHeader implement http.ResponseWriter.
func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(b []byte) (int, error) { return len(b), nil }
func (n *nobody) WriteHeader(int)             {}
