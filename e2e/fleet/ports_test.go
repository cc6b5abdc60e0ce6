package fleet

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestPortsAreFreeAndDistinct(t *testing.T) {
	ports := newPortAllocator(0, t.Name())
	seen := map[int]bool{}
	for range 50 {
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

// listen occupies a port that the allocator would give next.
func listen(t *testing.T) int {
	t.Helper()
	port, err := newPortAllocator(0, t.Name()).take("test")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return port
}

func TestPortInUseIsSkipped(t *testing.T) {
	taken := listen(t)
	port, err := newPortAllocator(0, t.Name()).take("test")
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
	for range 3 {
		if port, err := ports.take("test"); err != nil || port > lastPort {
			t.Fatalf("got %d, %v", port, err)
		}
	}
}
