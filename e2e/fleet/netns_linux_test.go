package fleet

import (
	"net"
	"os"
	"testing"
)

// TestNetnsOfTwoFleets: clusters of the same name in two fleets have network namespaces at the same time, and the
// programs of one namespace do not reach the addresses of the other.
func TestNetnsOfTwoFleets(t *testing.T) {
	const cluster = "cluster1"
	first, second := paths{root: t.TempDir()}, paths{root: t.TempDir()}
	if first.netns(cluster) == second.netns(cluster) || first.netns(cluster) == first.netns("cluster2") {
		t.Fatalf("%s and %s", first.netns(cluster), second.netns(cluster))
	}
	if os.Geteuid() != 0 {
		return // only root makes network namespaces
	}
	var spaces []*netns
	for _, fleet := range []paths{first, second} {
		n, err := newNetns(t.Context(), fleet.netns(cluster))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.remove(); err != nil {
				t.Error(err)
			}
		})
		spaces = append(spaces, n)
	}
	listener, err := call(spaces[0], func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for i, n := range spaces {
		conn, err := call(n, func() (net.Conn, error) { return net.Dial("tcp", listener.Addr().String()) })
		if (err == nil) != (i == 0) {
			t.Errorf("namespace %d reaches the listener of namespace 0: %v", i, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}
