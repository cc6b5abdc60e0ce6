package ui

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	// headerTimeout is the time limit for a request's headers. idleTimeout is the lifetime of an idle connection.
	headerTimeout, idleTimeout = 10 * time.Second, 2 * time.Minute

	// maxHeader is the maximum size of a request's headers, in bytes. Tokens are long.
	maxHeader = 64 << 10

	// shutdownTimeout is the time limit for open requests at the end. Streams end at once, with ctx.
	shutdownTimeout = 5 * time.Second
)

// Serve serves handler on a listener until ctx ends.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := s.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.Close()
	}
	return err
}
