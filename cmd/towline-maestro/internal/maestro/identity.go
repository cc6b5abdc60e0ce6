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

// connectTimeout ends a connection, with its handshake, that does not come about: net/http lets it go on when its request has been given
// up.
const connectTimeout = 10 * time.Second

// An identity is whom the client takes for Maestro, and who it says it is. Its files are read for each connection: whoever rotates them
// need not start the process again, also when the authority is a new one. Without a file of authorities, those of the system count, which
// are read once.
type identity struct{ caFile, certFile, keyFile string }

// config is that of the next connection.
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
		// Sent to whoever asks: a server of another authority then says what it holds against it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	return config, nil
}

// overHTTP connects to the REST server, never through a proxy: for what is behind one, net/http does not ask DialTLSContext, and would take
// the authorities of the system.
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

// overGRPC connects to the gRPC server.
func (i identity) overGRPC() credentials.TransportCredentials {
	return &handshakes{credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), i}
}

// handshakes are credentials that are made anew for each connection.
type handshakes struct {
	credentials.TransportCredentials

	of identity
}

// ClientHandshake is that of credentials.TransportCredentials.
func (h *handshakes) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := h.of.config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

// ServerHandshake is that of credentials.TransportCredentials.
func (h *handshakes) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are credentials of a client")
}

// Clone is that of credentials.TransportCredentials.
func (h *handshakes) Clone() credentials.TransportCredentials {
	return &handshakes{h.TransportCredentials.Clone(), h.of}
}
