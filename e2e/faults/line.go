package faults

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A line is a connection to an etcd with delayed answers. An API server behind the line does not know the latest
// writes, like an API server with a slow etcd or network.
type line struct {
	listener net.Listener
	target   string
	late     atomic.Int64
}

// newLine opens a line to an address. The answers have no delay before the first call of delay.
func newLine(target string) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, target: target}
	go l.accept()
	return l, nil
}

// Address returns the address of the line.
func (l *line) Address() string { return l.listener.Addr().String() }

// delay sets the delay of all further answers.
func (l *line) delay(by time.Duration) { l.late.Store(int64(by)) }

// Close closes the line. Connections end when either side closes them.
func (l *line) Close() { _ = l.listener.Close() }

func (l *line) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		far, err := net.Dial("tcp", l.target)
		if err != nil {
			_ = near.Close() // the client tries again
			continue
		}
		go func() {
			defer far.Close()
			_, _ = io.Copy(far, near) // either side may end the connection
		}()
		go func() {
			defer near.Close()
			l.pass(near, far)
		}()
	}
}

// A chunk is the data of a single read.
type chunk struct {
	at   time.Time
	data []byte
}

// pass forwards the data of one side with the delay, in order.
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
	for c := range chunks { // to the end even after a failure, because the reader must not block
		if failed == nil {
			pause(time.Until(c.at.Add(time.Duration(l.late.Load()))), nil)
			_, err := to.Write(c.data)
			failed = errors.Join(failed, err)
		}
	}
}
