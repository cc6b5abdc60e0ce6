package maestro

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc/credentials"
	certutil "k8s.io/client-go/util/cert"
)

// connectTimeout ends the attempt of a connection with the TLS handshake. net/http continues an attempt after the end
// of the request.
const connectTimeout = 10 * time.Second

// An identity has the files with the accepted authorities of Maestro (caFile) and with the client's certificate and
// key. The client reads the files for each connection, so a rotation of the files needs no restart, even with a new
// authority. Without a caFile, the authorities of the system count. The process reads the authorities of the system
// only once. client-go (0.37.2) reads a changed CA file after up to five minutes, and not for gRPC.
type identity struct{ caFile, certFile, keyFile string }

// config reads the files, and returns the TLS configuration for the next connection.
func (i identity) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if i.caFile != "" {
		pool, err := certutil.NewPool(i.caFile)
		if err != nil {
			return nil, fmt.Errorf("authorities of Maestro: %w", err)
		}
		config.RootCAs = pool
	}
	if i.certFile != "" {
		cert, err := tls.LoadX509KeyPair(i.certFile, i.keyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate for Maestro: %w", err)
		}
		// The client sends the certificate to any server. A server of a different authority then answers with the
		// reason of the refusal.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	return config, nil
}

// overHTTP returns a transport to the REST server, without a proxy. For a server behind a proxy, net/http does not call
// DialTLSContext, and would accept the authorities of the system.
func (i identity) overHTTP() http.RoundTripper {
	return &http.Transport{
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			config, err := i.config()
			if err != nil {
				return nil, err
			}
			config.NextProtos = []string{"h2", "http/1.1"}
			dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: connectTimeout}, Config: config}
			return dialer.DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
	}
}

// overGRPC returns the credentials for connections to the gRPC server.
func (i identity) overGRPC() credentials.TransportCredentials {
	return &handshakes{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), i}
}

// handshakes are gRPC credentials with a new TLS configuration for each connection.
type handshakes struct {
	credentials.TransportCredentials

	of identity
}

// ClientHandshake implements credentials.TransportCredentials.
func (h *handshakes) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := h.of.config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

// ServerHandshake implements credentials.TransportCredentials. ServerHandshake always returns an error.
func (h *handshakes) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are credentials of a client")
}

// Clone implements credentials.TransportCredentials.
func (h *handshakes) Clone() credentials.TransportCredentials {
	return &handshakes{h.TransportCredentials.Clone(), h.of}
}
