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
	// lag is the delay of each event with the fault Lags. pace is the interval between two occurrences of the other
	// faults.
	lag  = 1500 * time.Millisecond
	pace = 4 * time.Second
)

// expired is the API server's event at the end of a watch with an outdated version.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// watches applies a fault to the watches of a resource, one kind and one resource at a time.
type watches struct {
	mu       sync.Mutex
	resource string
	kind     WatchKind

	// changed is closed at a change of the fault. met counts the streams' faults.
	changed chan struct{}
	met     int
}

// set sets the fault for the watches of a resource. An empty kind is no fault.
func (ws *watches) set(resource string, kind WatchKind) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.changed != nil {
		close(ws.changed)
	}
	ws.changed = make(chan struct{})
	ws.resource, ws.kind = resource, kind
}

// of returns the present fault of a resource's watches.
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

// count returns the number of faults in all streams.
func (ws *watches) count() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.met
}

// meet puts the fault between the API server and the watching client.
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

// stream is the answer of a watch. Close also closes the source.
type stream struct {
	*io.PipeReader
	source io.Closer
}

// Close closes the pipe and the source.
func (s *stream) Close() error {
	_ = s.source.Close() // the source has no reader any more
	return s.PipeReader.Close()
}

// inLines makes the API server send a watch's events as JSON, one event on a line. Clients of metadata prefer protobuf,
// and protobuf events do not end with a line. pass would then hold back the last event until the next event, but for a
// list through a watch, the client waits for the last event.
func inLines(r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		return
	}
	types := strings.Split(r.Header.Get("Accept"), ",")
	r.Header.Set("Accept", strings.Join(slices.DeleteFunc(types, func(t string) bool { return strings.Contains(t, "protobuf") }), ","))
}

// event is a line of a watch.
type event struct {
	at   time.Time
	line []byte
}

// pass forwards a watch's events in order, with the fault of the watch.
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

// strike applies a fault once, and reports whether the stream continues.
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

// pause waits for d, or until stop is closed.
func pause(d time.Duration, stop <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-stop:
	}
}
