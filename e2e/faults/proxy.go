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

// delay is how long a write waits that is Delayed.
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

	// behind is an API server that knows nothing of what has just been written, and serves what may be old; nil for none.
	behind *url.URL

	// agent is set where Towline's agent comes this way.
	agent bool

	// replica is whose requests come this way, and ledger what is kept of them; nil for nothing.
	replica string
	ledger  *ledger

	mu   sync.Mutex
	open map[net.Conn]bool
	away bool
}

// scripts are those of all points, by their ids.
type scripts struct {
	mu sync.Mutex
	of map[string]*script
}

// NewProxy starts a proxy for the API server of a client configuration. It has a certificate of its own, and no identity: it hands
// on the token that it is shown.
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
	silent := log.New(io.Discard, "", 0) // each connection that is cut would be told of
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
		// An API server that cannot be reached answers nothing.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{
		Handler: p, ConnState: p.connection, ErrorLog: silent, ReadHeaderTimeout: time.Minute, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 2000},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // it ends with Close
	return p, nil
}

// Close ends it.
func (p *Proxy) Close() { _ = p.server.Close() }

// Kubeconfig makes a copy of a kubeconfig by which its user comes through the proxy.
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

// connection keeps which connections are open, and closes those that come while the API server is away.
func (p *Proxy) connection(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		delete(p.open, c)
	case state == http.StateNew && p.away:
		_ = c.Close() // nobody hears of it
	case state == http.StateNew:
		p.open[c] = true
	}
}

// cutOff closes all connections, and lets none in until the API server is back.
func (p *Proxy) cutOff(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
	if away {
		for c := range p.open {
			_ = c.Close() // nobody hears of it
		}
	}
}

// follow has the proxy go by a script for a point, until forget. Its faults meet the writes of Towline's agent, or those of the others.
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

// script is that of a point; nil for none.
func (p *Proxy) script(id string) *script {
	p.scripts.mu.Lock()
	defer p.scripts.mu.Unlock()
	return p.scripts.of[id]
}

// ServeHTTP hands a request on, or does to it what its point's script says.
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
			answer.before = told // who has learned that it leads may write in the next moment
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

// meet has a write meet a fault.
func (p *Proxy) meet(w http.ResponseWriter, r *http.Request, s *script, kind Kind) {
	carriedOut := r.Clone(context.WithoutCancel(r.Context()))
	carry := func() {
		if kind.carriedOut() {
			p.forward.ServeHTTP(&nobody{header: http.Header{}}, carriedOut)
		}
	}
	if kind.kills() {
		s.hold(carry)
		<-r.Context().Done() // the process is gone
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

// refuse answers as the API server does that will not, or cannot.
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

// mayBeOld tells whether the API server may answer with what it had some time ago: for lists whose version is 0, and watches.
// Lists that come by a watch may not be old: the proxy refuses those, as an API server does that is older than they.
func mayBeOld(r *http.Request) bool {
	query := r.URL.Query()
	return r.Method == http.MethodGet && (query.Get("watch") != "" || query.Get("resourceVersion") == "0")
}

// nobody takes an answer that nobody gets.
type nobody struct{ header http.Header }

// Header, Write and WriteHeader are those of http.ResponseWriter.
func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(b []byte) (int, error) { return len(b), nil }
func (n *nobody) WriteHeader(int)             {}
