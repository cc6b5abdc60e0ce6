package sourceproxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute

	// streamTimeout ends a request outside of the proxy, for example a refused request. Package pace ends the requests of
	// slow clients to the proxy.
	streamTimeout = time.Hour

	// stopTimeout is the time for running requests after the end of the agent's context.
	stopTimeout = 20 * time.Second
)

// newServer returns the HTTPS server of a proxy. HTTP/1.1 is enough for Git.
func newServer(proxy *Proxy) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           instrumented(proxy),
		Protocols:         protocols,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: proxy.identity.getCertificate},
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       streamTimeout,
		WriteTimeout:      streamTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          quiet,
	}
}

// serve serves on the address until the context ends.
func serve(ctx context.Context, server *http.Server, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	}()
	if err := server.ServeTLS(listener, "", ""); err != http.ErrServerClosed {
		return err
	}
	<-stopped
	return nil
}
