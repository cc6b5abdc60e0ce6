package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// settle is the wait for further changes before a stream sends changes, because changes often come together.
	settle = 200 * time.Millisecond

	// settleReading is the same wait during a first list: a page with new lines is sent as a whole.
	settleReading = 2 * time.Second

	// heartbeat is the interval of a stream's signs of life. The page's script expects the heartbeat.
	heartbeat = 15 * time.Second

	// writeTimeout is the time limit for a browser to read sent data.
	writeTimeout = 20 * time.Second

	// maxStream is the maximum lifetime of a stream. The browser then opens a new stream, and proves again that its
	// user may read.
	maxStream = 10 * time.Minute
)

// stream sends the changes of a page as server-sent events: "patch" with changed elements, and "reload" for a page with
// different elements. The first event is "hello", or "reload" if the page has changed since the browser loaded the
// page.
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
	w.Header().Set("X-Accel-Buffering", "no") // a buffering proxy would delay changes
	s := &sender{w: w, c: http.NewResponseController(w)}
	if s.send(event, had.Version) {
		p.follow(s, r, had)
	}
}

// follow sends changes until the browser has gone, or must reconnect.
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

// settled waits for the end of a group of changes, and sends the changes. The result is nil if the stream must end. If
// the page no longer exists, the browser reloads and gets the error.
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

// send sends an event, and returns false if the browser has gone.
func (s *sender) send(event string, data any) bool {
	text, err := json.Marshal(data) // on one line, with < and > written as \u003c
	if err != nil {
		return false
	}
	return s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, text))
}

func (s *sender) write(text string) bool {
	// A server without support for deadlines, as in a test, has no deadline.
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.c.Flush() == nil
}
