package fleet

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestBrokerRules checks with a real mosquitto which topics the account of a cluster may publish.
func TestBrokerRules(t *testing.T) {
	if os.Getenv("TOWLINE_MAESTRO_TEST") == "" {
		t.Skip("set TOWLINE_MAESTRO_TEST=1 where mosquitto is installed")
	}
	program, err := debianProgram("mosquitto", "mosquitto", "/usr/sbin")
	if err != nil {
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close() // the port is for the broker
	p := &plane{name: hubName, supervisor: &supervisor{paths: paths{root: t.TempDir()}, opts: Options{Clusters: ClusterNames(2)}}}
	listener, err := p.accountsListener(address)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(file, []byte("per_listener_settings true\npersistence false\nuser root\n"+listener), 0o600); err != nil {
		t.Fatal(err)
	}
	broker := exec.CommandContext(t.Context(), program, "-c", file)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Wait() }) // the end of the test's context ends the broker
	awaitPort(t, address)
	publish := func(password, topic string) (byte, error) {
		return PublishMQTT(t.Context(), address, "cluster1", password, "sources/"+MaestroSource+"/consumers/"+topic, "text/plain", []byte("any"))
	}
	for topic, want := range map[string]byte{
		"cluster1/agentevents": MQTTNoSubscribers, "cluster2/agentevents": MQTTNotAuthorized,
		"cluster1/sourceevents": MQTTNotAuthorized, "cluster2/sourceevents": MQTTNotAuthorized,
	} {
		if got, err := publish(BrokerPassword("cluster1"), topic); err != nil || got != want {
			t.Errorf("%s: code %#x, want %#x, %v", topic, got, want, err)
		}
	}
	if _, err := publish(BrokerPassword("cluster2"), "cluster1/agentevents"); err == nil {
		t.Error("the password of another account is taken")
	}
}

// awaitPort waits until a server listens.
func awaitPort(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(20 * time.Millisecond) {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
