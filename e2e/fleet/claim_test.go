package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStateDirIsClaimedOnce(t *testing.T) {
	dirs := paths{filepath.Join(t.TempDir(), "fleet")}
	unlock, err := claim(dirs, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(dirs, t.Logf); err == nil || !strings.Contains(err.Error(), "another fleet is starting") {
		t.Errorf("got %v", err)
	}
	if err := writeState(dirs, Status{Supervisor: ProcessRef{PID: 4711}}); err != nil {
		t.Fatal(err)
	}
	_, err = claim(dirs, t.Logf)
	for _, want := range []string{"a fleet runs in", "process 4711", "fleet down", "--dir"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	unlock()
	if unlock, err = claim(dirs, t.Logf); err != nil {
		t.Fatalf("after the end of the first: %v", err)
	}
	unlock()
}

func TestForeignStateDirIsRefused(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "data")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(paths{dir}, t.Logf); err == nil || !strings.Contains(err.Error(), "not empty and not a fleet's") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// bystander runs a program that a killed fleet might have left.
func bystander(t *testing.T) (ref ProcessRef, ended <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 300")
	if err := spawn(cmd, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	ref, err := refOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return ref, done
}

func TestLeftoversOfAKilledFleetAreCleared(t *testing.T) {
	dirs := paths{t.TempDir()}
	unlock, err := claim(dirs, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	mine, ended := bystander(t)
	other, _ := bystander(t)
	// The state file has the pid of a newer process.
	reused := ProcessRef{PID: other.PID, Born: "1"}
	status := Status{Planes: []PlaneStatus{{Processes: []ProcessStatus{{ProcessRef: mine}, {ProcessRef: reused}}}}}
	if err := writeState(dirs, status); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dirs.data("hub"), "etcd", "member")
	if err := os.MkdirAll(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	var said []string
	unlock, err = claim(dirs, func(format string, _ ...any) { said = append(said, format) })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the leftover process still runs")
	}
	if !other.Alive() {
		t.Error("somebody else's process was ended")
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the old data is still there")
	}
	if len(said) != 1 || !strings.Contains(said[0], "not stopped") {
		t.Errorf("said %q", said)
	}
}

func TestLongPathsHaveAShortSocket(t *testing.T) {
	short, long := paths{"/tmp/x"}, paths{"/tmp/" + strings.Repeat("deep/", 30)}
	if got := short.socket(); got != "/tmp/x/control.sock" {
		t.Errorf("got %q", got)
	}
	if got := long.socket(); len(got) > 100 || got == (paths{long.root + "x"}).socket() {
		t.Errorf("got %q", got)
	}
}
