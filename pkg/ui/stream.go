package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// settle is how long a stream waits for more changes before it sends them: many come at once.
	settle = 200 * time.Millisecond

	// settleReading is the same while a first list is read: a page with more in it is sent as a whole.
	settleReading = 2 * time.Second

	// heartbeat is how often a stream shows that it lives. The page's script looks for it.
	heartbeat = 15 * time.Second

	// writeTimeout is how long a browser may take to read what is sent.
	writeTimeout = 20 * time.Second

	// maxStream ends a stream; the browser opens the next one by itself, and shows with it that its user may still read.
	maxStream = 10 * time.Minute
)

// stream sends what changes in a page, as server-sent events: "patch" with elements to put in place, and "reload" where the page has others.
// It begins with "hello", or with "reload" where the page has changed since the browser has taken it.
func (p *page) stream(w http.ResponseWriter, r *http.Request) {
	had, err := p.come(r)
	if err != nil {
		fail(w, err)
		return
	}
	event := "hello"
	if has := r.URL.Query().Get("digest"); has != "" && has != had.Digest() {
		event = "reload"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that gathers would hold changes back
	s := &sender{w: w, c: http.NewResponseController(w)}
	if s.send(event, had.Version) {
		p.follow(s, r, had)
	}
}

// follow sends changes until the browser has gone, or is to come again.
func (p *page) follow(s *sender, r *http.Request, had *painted) {
	end, beat := time.NewTimer(maxStream), time.NewTicker(heartbeat)
	defer end.Stop()
	defer beat.Stop()
	for had != nil {
		select {
		case <-r.Context().Done():
			return
		case <-end.C:
			return
		case <-beat.C:
			if !s.send("here", "") {
				return
			}
		case <-p.key.hub.Changed(had.Version):
			had = p.settled(s, r, had)
		}
	}
}

// settled waits until the changes that come together have come, and sends them. It is nil where the stream is to end: where there is no page
// any more, the browser comes back and is told why.
func (p *page) settled(s *sender, r *http.Request, had *painted) *painted {
	wait := settle
	if had.fleet.Reading {
		wait = settleReading
	}
	select {
	case <-r.Context().Done():
		return nil
	case <-time.After(wait):
	}
	now, err := p.paint(r)
	if err != nil {
		s.send("reload", "")
		return nil
	}
	changed, same, err := patches(had.Chunks, now.Chunks)
	switch {
	case err != nil:
		return nil
	case !same && !s.send("reload", now.Version), len(changed) > 0 && !s.send("patch", changed):
		return nil
	}
	return now
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

func (s *sender) write(text string) bool {
	// A server that knows no deadlines, as in a test, has none.
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.c.Flush() == nil
}
