package git

import (
	"bytes"
	"errors"
	"net/http"
)

// MaxAnswer is the maximum size of an Answer.
const MaxAnswer = 4 << 20

// ErrLongAnswer means that an answer is longer than MaxAnswer.
var ErrLongAnswer = errors.New("the answer is too long to be kept")

// An Answer is the whole answer to a request.
type Answer struct {
	Header http.Header
	Body   []byte
}

// Answer returns the answer of Serve as a whole.
func (m Mirror) Answer(r *http.Request, path string) (*Answer, error) {
	w := &recorder{header: http.Header{}}
	if err := m.Serve(w, r, path); err != nil {
		return nil, err
	}
	if w.long {
		return nil, ErrLongAnswer
	}
	return &Answer{Header: w.header, Body: w.body.Bytes()}, nil
}

// recorder keeps an answer up to MaxAnswer.
type recorder struct {
	header http.Header
	body   bytes.Buffer
	long   bool
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Serve writes no code.
func (w *recorder) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	if w.long = w.long || w.body.Len()+len(p) > MaxAnswer; w.long {
		return len(p), nil
	}
	return w.body.Write(p)
}
