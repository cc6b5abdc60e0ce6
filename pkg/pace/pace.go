package pace

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
)

// A Pace is the pace of the slowest permitted client.
type Pace struct {
	// Patience is how long the server waits for a client. Each byte from or to the client makes up for a part of the
	// wait.
	Patience time.Duration

	// Rate is the number of bytes that make up for a second.
	Rate int
}

// Default permits a client with a line of 32 kbit/s, and a pause of half a minute.
var Default = Pace{Patience: 30 * time.Second, Rate: 4 << 10}

// idle is the maximum time between two reads or writes of the server, for example while a pack is computed.
const idle = time.Hour

// piece is the number of bytes of a single write. At the permitted rate, a piece takes half of the patience.
func (p Pace) piece() int { return int(p.Patience / 2 * time.Duration(p.Rate) / time.Second) }

// Body returns the body of a request. A read fails if the client sends too slowly.
func (p Pace) Body(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	return &body{r.Body, wait{Pace: p, deadline: http.NewResponseController(w).SetReadDeadline, left: p.Patience}}
}

// Writer returns a writer of the answer. A write sends all bytes at once, and fails if the client reads too slowly.
func (p Pace) Writer(w http.ResponseWriter) http.ResponseWriter {
	control := http.NewResponseController(w)
	return &writer{w, control, wait{Pace: p, deadline: control.SetWriteDeadline, left: p.Patience}}
}

// wait measures how long the server waits for a client in a direction.
type wait struct {
	Pace
	deadline func(time.Time) error
	left     time.Duration
}

// during carries out a read or a write of n bytes, within the time that is left. A failed client gets no more time.
func (w *wait) during(do func() (n int, err error)) (int, error) {
	began := time.Now()
	if err := w.deadline(began.Add(w.left)); err != nil {
		return 0, err
	}
	n, err := do()
	now := time.Now()
	earned := time.Duration(n) * time.Second / time.Duration(w.Rate)
	w.left = min(w.Patience, w.left-now.Sub(began)+earned)
	switch {
	case err == nil:
		err = w.deadline(now.Add(idle))
	case errors.Is(err, io.EOF):
		_ = w.deadline(time.Time{}) // with HTTP/1.1, a deadline would later end the wait for the answer
	}
	return n, err
}

// body is a body with a pace.
type body struct {
	io.ReadCloser
	wait
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	return b.during(func() (int, error) { return b.ReadCloser.Read(p) })
}

// writer is a writer with a pace.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	wait
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (written int, err error) {
	for part := range slices.Chunk(p, w.piece()) {
		n, err := w.during(func() (int, error) {
			n, err := w.ResponseWriter.Write(part)
			return n, errors.Join(err, w.control.Flush())
		})
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// FlushError flushes the answer for an http.ResponseController.
func (w *writer) FlushError() error {
	_, err := w.during(func() (int, error) { return 0, w.control.Flush() })
	return err
}

// Unwrap returns the inner writer for an http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
