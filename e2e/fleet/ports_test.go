package fleet

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestPortsAreFreeAndDistinct(t *testing.T) {
	ports := allocator(t)
	seen := map[int]bool{}
	for range 250 {
		port, err := ports.take("test")
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was given twice", port)
		}
		if port < firstPort || port > lastPort {
			t.Errorf("port %d is not between %d and %d", port, firstPort, lastPort)
		}
		seen[port] = true
		if err := probePort(port); err != nil {
			t.Errorf("port %d is not free: %v", port, err)
		}
	}
}

// allocator returns an allocator that looks for free ports in the same place as all allocators of the test, but not of
// a different process.
func allocator(t *testing.T) *portAllocator {
	t.Helper()
	ports := newPortAllocator(0, fmt.Sprint(t.Name(), os.Getpid()))
	t.Cleanup(ports.release)
	return ports
}

// listen occupies the port that the allocator would return next.
func listen(t *testing.T) int {
	t.Helper()
	ports := allocator(t)
	port, err := ports.take("test")
	if err != nil {
		t.Fatal(err)
	}
	ports.release()
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return port
}

func TestPortInUseIsSkipped(t *testing.T) {
	taken := listen(t)
	port, err := allocator(t).take("test")
	if err != nil || port == taken {
		t.Errorf("got port %d, %v; %d is in use", port, err, taken)
	}
}

func TestFixedPortInUseNamesPortAndRemedy(t *testing.T) {
	taken := listen(t)
	_, err := newPortAllocator(taken, "").take("hub kube-apiserver")
	if err == nil {
		t.Fatal("a port in use was given")
	}
	for _, want := range []string{strconv.Itoa(taken), "hub kube-apiserver", "--base-port", "in use"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message %q lacks %q", err, want)
		}
	}
}

func TestPortsWrapAround(t *testing.T) {
	ports := &portAllocator{next: lastPort}
	t.Cleanup(ports.release)
	for range 3 {
		if port, err := ports.take("test"); err != nil || port > lastPort {
			t.Fatalf("got %d, %v", port, err)
		}
	}
}

// Two fleets that start at the same time look for ports before any of their programs listens.
func TestPortIsGivenToOneFleetOnly(t *testing.T) {
	first, second := allocator(t), allocator(t)
	given := map[int]bool{}
	for range 150 {
		for _, ports := range []*portAllocator{first, second} {
			port, err := ports.take("test")
			if err != nil || given[port] {
				t.Fatalf("got port %d, %v; given before: %t", port, err, given[port])
			}
			given[port] = true
		}
	}
}

func TestPortsOfAFleetThatEndedAreGivenAgain(t *testing.T) {
	first := allocator(t)
	want, err := first.take("test")
	if err != nil {
		t.Fatal(err)
	}
	first.release()
	if got, err := allocator(t).take("test"); err != nil || got != want {
		t.Errorf("got port %d, %v; want %d", got, err, want)
	}
}
