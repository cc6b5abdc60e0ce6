package fleet

import (
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"sync"
)

// Ports are below the kernel's range for outgoing connections. A stopped server must find its port free at its next
// start, and any connection could occupy an ephemeral port.
//
// Ports come in blocks. An allocator listens on the first port of a block to own the block, and does not return this
// port. Without blocks, two fleets that start at the same time could both find a port free, before a program listens on
// it. A fleet with a base port has no blocks.
const (
	firstPort  = 12000
	lastPort   = 29999
	portsBlock = 100
)

// A portAllocator returns free ports of 127.0.0.1, each port once.
type portAllocator struct {
	mu     sync.Mutex
	next   int
	fixed  bool
	blocks []net.Listener // on the first port of each block of this allocator
}

// newPortAllocator numbers the ports from base, or looks for free ports if base is 0. Different seeds make two fleets
// on a machine look in different places.
func newPortAllocator(base int, seed string) *portAllocator {
	if base != 0 {
		return &portAllocator{next: base, fixed: true}
	}
	hash := fnv.New32a()
	hash.Write([]byte(seed))
	return &portAllocator{next: firstPort + int(hash.Sum32())%((lastPort+1-firstPort)/portsBlock)*portsBlock}
}

// take returns the next port.
func (a *portAllocator) take(purpose string) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fixed {
		port := a.next
		a.next++
		if err := probePort(port); err != nil {
			return 0, fmt.Errorf("port %d for %s is in use: end the program that listens there (ss -ltnp 'sport = :%d'), "+
				"or choose another --base-port, or leave --base-port out for free ports: %w", port, purpose, port, err)
		}
		return port, nil
	}
	var err error
	for range lastPort - firstPort + 1 {
		if a.next > lastPort {
			a.next = firstPort
		}
		port := a.next
		a.next++
		if port%portsBlock != 0 {
			if err = probePort(port); err == nil {
				return port, nil
			}
		} else if err = a.takeBlock(port); err != nil {
			a.next += portsBlock - 1
		}
	}
	return 0, fmt.Errorf("no free port for %s between %d and %d; the last one: %w", purpose, firstPort, lastPort, err)
}

// takeBlock takes the block of ports with the given first port. It fails if another allocator has the block.
func (a *portAllocator) takeBlock(first int) error {
	listener, err := net.Listen("tcp", loopback(first))
	if err == nil {
		a.blocks = append(a.blocks, listener)
	}
	return err
}

// release gives the blocks back. It may be called twice.
func (a *portAllocator) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, block := range a.blocks {
		_ = block.Close()
	}
	a.blocks = nil
}

func probePort(port int) error {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
