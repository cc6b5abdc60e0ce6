package fleet

import (
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"sync"
)

// Ports are taken from below the range that kernels use for outgoing connections: a server that is stopped
// and started again must find its port free, and a connection of anybody's could sit on an ephemeral one.
const (
	firstPort = 12000
	lastPort  = 29999
)

// A portAllocator hands out ports of 127.0.0.1 that nobody listens on, each once.
type portAllocator struct {
	mu    sync.Mutex
	next  int
	fixed bool
}

// newPortAllocator numbers the ports from base, or looks for free ones where base is 0. The seed makes two
// fleets on one machine look in different places.
func newPortAllocator(base int, seed string) *portAllocator {
	if base != 0 {
		return &portAllocator{next: base, fixed: true}
	}
	hash := fnv.New32a()
	hash.Write([]byte(seed))
	return &portAllocator{next: firstPort + int(hash.Sum32())%((lastPort-firstPort)/100)*100}
}

// take gives the next port.
func (a *portAllocator) take(purpose string) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range lastPort - firstPort {
		port := a.next
		a.next++
		if !a.fixed && a.next > lastPort {
			a.next = firstPort
		}
		err := probePort(port)
		if err == nil {
			return port, nil
		}
		if a.fixed {
			return 0, fmt.Errorf("port %d for %s is in use: end the program that listens there (ss -ltnp 'sport = :%d'), "+
				"or choose another --base-port, or none to have free ports looked for: %w", port, purpose, port, err)
		}
	}
	return 0, fmt.Errorf("no free port for %s between %d and %d", purpose, firstPort, lastPort)
}

func probePort(port int) error {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
