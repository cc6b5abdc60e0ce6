package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/towline-io/towline/pkg/view"
)

const (
	// settle is how long a stream waits for more changes before it sends them: many come at once.
	settle = 200 * time.Millisecond

	// heartbeat is how often a stream shows that it lives.
	heartbeat = 15 * time.Second

	// writeTimeout is how long a browser may take to read what is sent.
	writeTimeout = 20 * time.Second

	// maxStream ends a stream; the browser opens the next one by itself, and shows with it that its user may still read.
	maxStream = 10 * time.Minute
)

// painting is held by a stream that makes its page: a change concerns all of them at once, and all their pages would fill the memory.
var painting = make(chan struct{}, 2)

// alone does what only so many streams do at the same time.
func alone(do func()) {
	painting <- struct{}{}
	defer func() { <-painting }()
	do()
}

// seen is what a stream remembers of the page that its browser has.
type seen struct {
	version  uint64
	marks    []mark
	rows     uint64
	unread   []string
	concerns func(*view.Row) bool
}

// see notes a page, and lets go of everything else: many streams are open for long.
func (v *visit) see(p *painted) *seen {
	s := &seen{version: p.Version, marks: marks(p.Chunks), unread: v.fleet.Unread, concerns: p.concerns}
	if p.concerns != nil {
		s.rows = rowsSum(v.rows(p.concerns))
	}
	v.has = make(map[string]uint64, len(s.marks))
	for _, m := range s.marks {
		v.has[m.id] = m.sum
	}
	v.fleet = nil
	return s
}

// stream sends what changes in a page, as server-sent events: "patch" with elements to put in place, and "reload" where the page has others.
func (v *visit) stream(w http.ResponseWriter) {
	s := &sender{w: w, c: http.NewResponseController(w)}
	had, err := v.begin(s)
	if err != nil {
		fail(w, err)
		return
	}
	end := time.NewTimer(maxStream)
	defer end.Stop()
	for had != nil {
		select {
		case <-v.Request.Context().Done():
			return
		case <-end.C:
			return
		case <-time.After(heartbeat):
			s.beat()
		case <-v.Hub.Changed(v.namespaces(), had.version):
			had = v.settled(had, s)
		}
	}
}

// begin says whether the browser has the page as it is now.
func (v *visit) begin(s *sender) (had *seen, err error) {
	event, version := "hello", uint64(0)
	alone(func() {
		var p *painted
		if p, err = v.paint(); err != nil {
			return
		}
		version = p.Version
		if has := v.Request.URL.Query().Get("digest"); has != "" && has != p.Digest() {
			event = "reload" // the page has changed since the browser has taken it
		}
		had = v.see(p)
	})
	if err != nil {
		return nil, err
	}
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no") // a proxy that gathers would hold changes back
	if !s.send(event, version) {
		had = nil
	}
	return had, nil
}

// settled waits until the changes that come together have come.
func (v *visit) settled(had *seen, s *sender) *seen {
	select {
	case <-v.Request.Context().Done():
		return nil
	case <-time.After(settle):
	}
	event, data := "", any(nil)
	alone(func() { had, event, data = v.again(had) })
	if event != "" && !s.send(event, data) {
		return nil
	}
	return had
}

// again paints the page anew, and says what is to be sent; an empty event for nothing. Nil ends the stream: the browser comes back, and is
// told why there is no page.
func (v *visit) again(had *seen) (now *seen, event string, data any) {
	if had.concerns != nil {
		f, err := v.Hub.Fleet(v.Request.Context(), v.namespaces())
		if err != nil {
			return nil, "", nil
		}
		v.fleet = f
		if rowsSum(v.rows(had.concerns)) == had.rows && slices.Equal(f.Unread, had.unread) {
			had.version, v.fleet = f.Version, nil
			return had, "", nil
		}
	}
	p, err := v.paint()
	if err != nil {
		return nil, "reload", ""
	}
	changed, ok := patches(had.marks, p.Chunks)
	now = v.see(p)
	switch {
	case !ok:
		return now, "reload", p.Version
	case len(changed) > 0:
		return now, "patch", changed
	}
	return now, "", nil
}

// sender writes server-sent events.
type sender struct {
	w http.ResponseWriter
	c *http.ResponseController
}

// send sends an event; false where the browser has gone.
func (s *sender) send(event string, data any) bool {
	text, err := json.Marshal(data) // on one line, with < and > written as \u003c
	if err != nil {
		return false
	}
	return s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, text))
}

// beat sends a comment.
func (s *sender) beat() { s.write(": here\n\n") }

func (s *sender) write(text string) bool {
	// A server that knows no deadlines, as in a test, has none.
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.c.Flush() == nil
}
