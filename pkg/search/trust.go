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

// maxCA is the maximum size of the CA file in bytes. The whole CA bundle of a system has a quarter of this size.
const maxCA = 1 << 20

// trusted keeps the HTTP transport for the current content of the CA file. Each Client has a separate transport, and
// does not change the connections of the rest of the program.
//
// The transport of client-go (0.37.2) does not serve here: client-go reads a changed CA file after up to five minutes, and a
// bearer token from a file is up to 50 seconds old.
type trusted struct {
	file string

	mu   sync.Mutex
	pem  []byte
	made *http.Transport
}

// transport returns the HTTP transport. After a change of the CA file, transport creates a new one. The file may be
// unreadable or empty for a moment during its replacement. Meanwhile transport returns the former HTTP transport, or an
// error before the first valid CA file.
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

// newTransport returns an HTTP transport with the pool as trusted authorities. For nil, the authorities are the system's.
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
