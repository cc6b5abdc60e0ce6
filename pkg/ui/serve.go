package ui

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	// headerTimeout is how long a browser may take to ask, and idleTimeout how long a connection is kept for the next request.
	headerTimeout, idleTimeout = 10 * time.Second, 2 * time.Minute

	// maxHeader is how many bytes of headers a request has at most: tokens are long.
	maxHeader = 64 << 10

	// shutdownTimeout is how long requests may take to end. Streams end at once, with ctx.
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
