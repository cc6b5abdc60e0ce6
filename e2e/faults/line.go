package faults

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A line is a connection to an etcd whose answers come late. An API server that has its data by it knows nothing of what has just
// been written, as one does whose etcd or network is slow.
type line struct {
	listener net.Listener
	target   string
	late     atomic.Int64
}

// newLine opens a line to an address. Until it is delayed, its answers come at once.
func newLine(target string) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, target: target}
	go l.accept()
	return l, nil
}

// Address is where it is reached.
func (l *line) Address() string { return l.listener.Addr().String() }

// delay has each answer come so much later from now on.
func (l *line) delay(by time.Duration) { l.late.Store(int64(by)) }

// Close ends it; connections end when either side closes them.
func (l *line) Close() { _ = l.listener.Close() }

func (l *line) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		far, err := net.Dial("tcp", l.target)
		if err != nil {
			_ = near.Close() // it will be tried again
			continue
		}
		go func() {
			defer far.Close()
			_, _ = io.Copy(far, near) // either side may end it
		}()
		go func() {
			defer near.Close()
			l.pass(near, far)
		}()
	}
}

// A chunk is what was read at a time.
type chunk struct {
	at   time.Time
	data []byte
}

// pass hands on what one side says, late and in its order.
func (l *line) pass(to io.Writer, from io.Reader) {
	chunks := make(chan chunk, 1<<16)
	go func() {
		defer close(chunks)
		for {
			data := make([]byte, 1<<15)
			n, err := from.Read(data)
			if n > 0 {
				chunks <- chunk{time.Now(), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	var failed error
	for c := range chunks { // to its end also after a failure: the reader must not stay
		if failed == nil {
			pause(time.Until(c.at.Add(time.Duration(l.late.Load()))), nil)
			_, err := to.Write(c.data)
			failed = errors.Join(failed, err)
		}
	}
}
