package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// controlled serves the socket of a supervisor with a single process: a script as cluster1's work agent.
func controlled(t *testing.T) (*supervisor, remoteControl) {
	t.Helper()
	s := &supervisor{
		opts: Options{Progress: t.Output(), ReadyTimeout: 10 * time.Second}, paths: paths{t.TempDir()},
		ports: newPortAllocator(0, t.Name()), began: time.Now(), down: make(chan struct{}),
	}
	if err := s.paths.create(); err != nil {
		t.Fatal(err)
	}
	s.clusters = []*plane{{supervisor: s, name: "cluster1", ports: map[string]int{}}}
	err := s.run(t.Context(), spec{owner: "cluster1", name: "work-agent", path: "/bin/sh", args: []string{"-c", "sleep 300"}, env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	server, err := serveControl(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stopOwner("cluster1"); server.Close() })
	return s, newRemoteControl(s.paths.socket())
}

func TestControlStopsAndStarts(t *testing.T) {
	_, remote := controlled(t)
	for _, step := range []struct {
		action string
		want   bool
	}{{actStop, false}, {actStop, false}, {actStart, true}, {actStart, true}} {
		if err := remote.act(t.Context(), step.action, "cluster1", "agent"); err != nil {
			t.Fatal(err)
		}
		status, err := remote.status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := status.Planes[0].Processes[0]
		if got.Name != "work-agent" || got.Running != step.want {
			t.Errorf("after %s: %+v", step.action, got)
		}
	}
}

func TestControlNamesTheChoices(t *testing.T) {
	_, remote := controlled(t)
	tests := map[string]struct{ action, plane, what, want string }{
		"plane":   {actStop, "cluster9", "agent", "this fleet has [hub cluster1]"},
		"process": {actStart, "cluster1", "kubelet", "name one of [work-agent]"},
		"rebuild": {actRebuild, "hub", "", "this fleet has [cluster1]"},
		"action":  {"paint", "cluster1", "", `cannot "paint"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := remote.act(t.Context(), tc.action, tc.plane, tc.what)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestControlAsksForTheEnd(t *testing.T) {
	s, remote := controlled(t)
	var group errgroup.Group
	for range 3 { // repeated requests have no effect
		group.Go(func() error { return remote.act(t.Context(), actDown, "", "") })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	<-s.down
}

func TestStateFileFollowsProcesses(t *testing.T) {
	s, remote := controlled(t)
	if err := remote.act(t.Context(), actStop, "cluster1", "work-agent"); err != nil {
		t.Fatal(err)
	}
	s.save()
	status, err := readState(s.paths)
	if err != nil || len(status.allProcesses()) != 1 || status.allProcesses()[0].Running {
		t.Errorf("got %+v, %v", status, err)
	}
	if err := os.WriteFile(s.paths.state(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readState(s.paths); err == nil || !strings.Contains(err.Error(), "remove the folder") {
		t.Errorf("got %v", err)
	}
}

func TestExtraArgsReachTheirProcess(t *testing.T) {
	s := &supervisor{paths: paths{t.TempDir()}, opts: Options{
		ExtraArgs: map[string][]string{"etcd": {"-a"}, "hub/etcd": {"-b"}, "cluster1/etcd": {"-c"}},
		ExtraEnv:  map[string][]string{"etcd": {"E=1"}},
	}}
	sp := spec{owner: "hub", name: "etcd", args: []string{"-0"}}
	s.complete(&sp)
	if got := strings.Join(append(sp.args, sp.env...), " "); got != "-0 -a -b E=1" {
		t.Errorf("got %q", got)
	}
	if filepath.Base(sp.log) != "hub-etcd.log" {
		t.Errorf("log %q", sp.log)
	}
}

func TestExtraArgsWithoutAProgramAreRefused(t *testing.T) {
	s, _ := controlled(t)
	s.opts.ExtraArgs = map[string][]string{"cluster1/work-agent": nil}
	if err := s.checkExtras(); err != nil {
		t.Error(err)
	}
	s.opts.ExtraArgs = map[string][]string{"no-agent": nil}
	if err := s.checkExtras(); err == nil || !strings.Contains(err.Error(), `"no-agent"`) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsWithoutAFleet(t *testing.T) {
	for name, ask := range map[string]func() error{
		"connect": func() error { _, err := Connect(t.Context(), t.TempDir()); return err },
		"status":  func() error { _, err := ReadStatus(t.Context(), t.TempDir()); return err },
		"down":    func() error { return Down(t.Context(), t.TempDir()) },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "fleet up") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
