package pace_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/towline-io/towline/pkg/pace"
)

// slowest permits 1 KiB a second, and a pause of ten seconds.
var slowest = pace.Pace{Patience: 10 * time.Second, Rate: 1 << 10}

// pipes is a listener whose connections hold no bytes back: a write waits for the read.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close implements net.Listener.
func (p pipes) Close() error {
	close(p)
	return nil
}

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial returns the client's end of a new connection.
func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// each runs a test with HTTP/1.1 and with HTTP/2, on the clock of a bubble.
func each(t *testing.T, handle http.HandlerFunc, test func(t *testing.T, client *http.Client)) {
	t.Helper()
	for _, name := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				protocols := &http.Protocols{}
				protocols.SetHTTP1(name == "HTTP/1.1")
				protocols.SetUnencryptedHTTP2(name == "HTTP/2")
				listener := make(pipes)
				server := &http.Server{Handler: handle, Protocols: protocols, ReadHeaderTimeout: time.Minute}
				transport := &http.Transport{DialContext: listener.dial, Protocols: protocols, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 10}}
				ended := make(chan error, 1)
				go func() { ended <- server.Serve(listener) }()
				test(t, &http.Client{Transport: transport})
				transport.CloseIdleConnections()
				_ = server.Close()
				<-ended
				<-time.After(10 * time.Minute) // the last drip of a client
			})
		})
	}
}

// drips has a number of drips of the same size, with a time between.
type drips struct {
	left, size int
	every      time.Duration
}

// Read implements io.Reader.
func (d *drips) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	d.left--
	<-time.After(d.every)
	return copy(p, make([]byte, d.size)), nil
}

// outcome is the result of a handler. The test may read the result while the handler runs.
type outcome struct {
	mu    sync.Mutex
	bytes int
	took  time.Duration
	err   error
}

func (o *outcome) set(bytes int, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes, o.took, o.err = bytes, took, err
}

func (o *outcome) get() (bytes int, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes, o.took, o.err
}

func post(t *testing.T, client *http.Client, body io.Reader) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, (&url.URL{Scheme: "http", Host: "server"}).String(), body)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(r)
}

// TestBody: the server gives up a client after the permitted pause, and reads a slow body at the permitted pace for as
// long as the body takes. After the body, the server may take any time for the answer.
func TestBody(t *testing.T) {
	for name, tc := range map[string]struct {
		body drips
		gets int
		ends time.Duration // 0 for a complete body
	}{
		"a byte each minute":                 {drips{60, 1, time.Minute}, 0, 10 * time.Second},
		"a byte each second":                 {drips{600, 1, time.Second}, 10, 10 * time.Second},
		"nearly the permitted pace":          {drips{600, 500, time.Second}, 18 * 500, 19 * time.Second},
		"the permitted pace":                 {drips{600, 1 << 10, time.Second}, 600 << 10, 0},
		"a permitted pause, again and again": {drips{60, 10 << 10, 9 * time.Second}, 60 * 10 << 10, 0},
		"all at once, and then nothing":      {drips{2, 16 << 10, 11 * time.Second}, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var done outcome
			each(t, func(w http.ResponseWriter, r *http.Request) {
				began := time.Now()
				got, err := io.Copy(io.Discard, slowest.Body(w, r))
				if done.set(int(got), time.Since(began), err); err == nil {
					<-time.After(2 * time.Minute)
				}
				w.WriteHeader(http.StatusNoContent)
			}, func(t *testing.T, client *http.Client) {
				body := tc.body
				answer, err := post(t, client, &body)
				if err == nil {
					answer.Body.Close()
				}
				got, took, failed := done.get()
				if tc.ends == 0 {
					if failed != nil || err != nil || got != tc.gets {
						t.Errorf("the server reads %d bytes, and not %d: %v, %v", got, tc.gets, failed, err)
					}
					return
				}
				if !errors.Is(failed, os.ErrDeadlineExceeded) || got != tc.gets || took.Round(time.Second) != tc.ends {
					t.Errorf("the server reads %d bytes in %s, and not %d in %s: %v", got, took, tc.gets, tc.ends, failed)
				}
			})
		})
	}
}

// TestWriter: the server gives up a client that does not read, and writes at the permitted pace for as long as the
// answer takes. The time between two writes does not count.
func TestWriter(t *testing.T) {
	const size = 200 << 10
	for name, tc := range map[string]struct {
		bytes int // per second
		whole bool
	}{
		"nothing":               {0, false},
		"a byte each second":    {1, false},
		"the permitted pace":    {2 << 10, true},
		"faster than permitted": {100 << 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			var done outcome
			each(t, func(w http.ResponseWriter, _ *http.Request) {
				out, wrote := slowest.Writer(w), 0
				began := time.Now()
				for range 2 {
					n, err := out.Write(make([]byte, size/2))
					wrote += n
					if done.set(wrote, time.Since(began), err); err != nil {
						return
					}
					<-time.After(2 * time.Minute)
				}
			}, func(t *testing.T, client *http.Client) {
				done.set(0, 0, nil)
				answer, err := post(t, client, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				got, wrote, took := 0, 0, time.Duration(0)
				var failed error
				for err == nil && failed == nil {
					<-time.After(time.Second)
					var n int
					n, err = io.ReadAtLeast(answer.Body, make([]byte, max(tc.bytes, 1)), tc.bytes)
					got += n
					wrote, took, failed = done.get()
				}
				if tc.whole && (failed != nil || got != size || wrote != size) {
					t.Errorf("the client has %d bytes, and the server wrote %d: %v", got, wrote, failed)
				}
				if !tc.whole && (failed == nil || took > 11*time.Second) {
					t.Errorf("the server wrote %d bytes in %s: %v", wrote, took, failed)
				}
			})
		})
	}
}
