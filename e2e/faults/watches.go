package faults

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// lag is by how much each event of a watch that Lags is late, and pace how often one of the others meets its fault.
	lag  = 1500 * time.Millisecond
	pace = 4 * time.Second
)

// expired is the event by which the API server ends a watch whose version is too old.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// watches has watches meet their fault: one kind for one resource at a time.
type watches struct {
	mu       sync.Mutex
	resource string
	kind     WatchKind

	// changed is closed when another fault is set, and met counts how often streams met one.
	changed chan struct{}
	met     int
}

// set has the watches of a resource meet a fault from now on; an empty kind is none.
func (ws *watches) set(resource string, kind WatchKind) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.changed != nil {
		close(ws.changed)
	}
	ws.changed = make(chan struct{})
	ws.resource, ws.kind = resource, kind
}

// of is the fault of a resource's watches now.
func (ws *watches) of(resource string) (WatchKind, <-chan struct{}) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.changed == nil {
		ws.changed = make(chan struct{})
	}
	if ws.resource != resource {
		return "", ws.changed
	}
	return ws.kind, ws.changed
}

func (ws *watches) note() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.met++
}

// count is how often streams have met a fault.
func (ws *watches) count() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.met
}

// meet puts itself between the API server and whoever watches.
func (ws *watches) meet(r *http.Response) error {
	seen := read(r.Request, nil)
	if !seen.watches || r.StatusCode != http.StatusOK {
		return nil
	}
	for _, resource := range WatchedResources {
		if seen.resource == resource {
			from, to := io.Pipe()
			go ws.pass(r.Body, to, resource)
			r.Body = &stream{PipeReader: from, source: r.Body}
		}
	}
	return nil
}

// stream is a watch's answer that closes its source with it.
type stream struct {
	*io.PipeReader
	source io.Closer
}

// Close ends both.
func (s *stream) Close() error {
	_ = s.source.Close() // it is read no more
	return s.PipeReader.Close()
}

// inLines has a watch's events come as JSON, one in a line. Clients that want metadata only ask for protobuf first, whose events do not
// end where a line ends: pass would hand the last one on when the next has come, and of a list that comes by a watch the last one is what
// its reader waits for.
func inLines(r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		return
	}
	types := strings.Split(r.Header.Get("Accept"), ",")
	r.Header.Set("Accept", strings.Join(slices.DeleteFunc(types, func(t string) bool { return strings.Contains(t, "protobuf") }), ","))
}

// event is one line of a watch.
type event struct {
	at   time.Time
	line []byte
}

// pass hands on a watch's events in their order, as its fault says.
func (ws *watches) pass(from io.Reader, to *io.PipeWriter, resource string) {
	events := make(chan event, 1<<16)
	go func() {
		defer close(events)
		lines := bufio.NewReaderSize(from, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			events <- event{time.Now(), line}
		}
	}()
	defer to.Close()
	began := time.Now()
	for {
		kind, changed := ws.of(resource)
		var strike <-chan time.Time
		if kind != "" && kind != Lags {
			strike = time.After(time.Until(began.Add(pace)))
		}
		select {
		case <-changed:
			began = time.Now()
		case <-strike:
			ws.note()
			if !ws.strike(to, kind) {
				return
			}
			began = time.Now()
		case e, ok := <-events:
			if !ok {
				return
			}
			if kind == Lags {
				ws.note()
				pause(time.Until(e.at.Add(lag)), changed)
			}
			if _, err := to.Write(e.line); err != nil {
				return
			}
		}
	}
}

// strike does once what a fault does, and tells whether the stream goes on.
func (ws *watches) strike(to io.Writer, kind WatchKind) bool {
	switch kind {
	case Stops:
		pause(pace, nil)
		return true
	case Expires:
		fmt.Fprint(to, expired)
	}
	return false
}

// pause waits so long, or until it is told to stop.
func pause(d time.Duration, stop <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-stop:
	}
}
