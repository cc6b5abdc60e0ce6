package search

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// maxCA bounds the CA file; a system's whole bundle has a quarter of it.
const maxCA = 1 << 20

// trusted is the transport that trusts what the CA file says now. It belongs to its client: other parts of the
// program, and their connections, are not touched.
//
// The transport of client-go (v0.35) does not serve here: client-go reads the CA file only once, and a bearer token from a
// file is up to 50 seconds old.
type trusted struct {
	file string

	mu   sync.Mutex
	pem  []byte
	made *http.Transport
}

// transport is made anew when the file has changed. While the file cannot be read, or holds nothing, as may be for
// a moment when it is replaced, the last good one goes on.
func (t *trusted) transport() (*http.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == "" {
		if t.made == nil {
			t.made = newTransport(nil)
		}
		return t.made, nil
	}
	pem, err := readFile(t.file, maxCA)
	pool := x509.NewCertPool()
	switch {
	case err == nil && t.made != nil && bytes.Equal(pem, t.pem):
		return t.made, nil
	case err == nil && !pool.AppendCertsFromPEM(pem):
		err = fmt.Errorf("%s holds no certificate", t.file)
	}
	if err != nil {
		if t.made != nil {
			return t.made, nil
		}
		return nil, err
	}
	if t.made != nil {
		t.made.CloseIdleConnections()
	}
	t.pem, t.made = pem, newTransport(pool)
	return t.made, nil
}

// newTransport makes a transport that trusts the pool; nil is the system's.
func newTransport(pool *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool},
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        time.Minute,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
}
