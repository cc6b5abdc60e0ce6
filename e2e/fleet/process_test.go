package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shell makes a process that runs a script. The process is stopped when the test ends.
func shell(t *testing.T, script string, change func(*spec)) *process {
	t.Helper()
	dir := t.TempDir()
	sp := spec{
		owner: "cluster1", name: "script", path: "/bin/sh", args: []string{"-c", script}, env: os.Environ(), dir: dir,
		log: filepath.Join(dir, "log"), timeout: 10 * time.Second, grace: 10 * time.Second,
	}
	if change != nil {
		change(&sp)
	}
	p := &process{spec: sp, changed: func() {}, say: t.Logf}
	t.Cleanup(p.stop)
	return p
}

// fileThere is ready when the process has written a file.
func fileThere(p *process, name string) probe {
	return func(context.Context) error {
		_, err := os.Stat(filepath.Join(p.spec.dir, name))
		return err
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestProcessStartsOnceAndStops(t *testing.T) {
	p := shell(t, "trap 'touch ended; exit 0' TERM; touch up; while :; do sleep 0.05; done", nil)
	p.spec.ready = fileThere(p, "up")
	if err := p.start(within(t)); err != nil {
		t.Fatal(err)
	}
	first := p.reference()
	if err := p.start(within(t)); err != nil || p.reference() != first {
		t.Errorf("a second start gave %v, %v", p.reference(), err)
	}
	p.stop()
	if p.running() || first.Alive() {
		t.Error("it still runs")
	}
	if err := fileThere(p, "ended")(t.Context()); err != nil {
		t.Error("it was not asked to end before it was killed")
	}
	p.stop() // a second stop has no effect
}

func TestProcessThatEndsBeforeItIsReadyShowsItsLog(t *testing.T) {
	p := shell(t, "echo the reason is here; exit 3", func(sp *spec) {
		sp.ready = func(context.Context) error { return errors.New("connection refused") }
	})
	err := p.start(within(t))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"cluster1-script did not come up", "exit status 3", "the reason is here", p.spec.log} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message lacks %q:\n%v", want, err)
		}
	}
}

// TestProcessWithAKnownCrashIsStartedAgain checks that only the known text counts, in the log of the present run, and
// not forever.
func TestProcessWithAKnownCrashIsStartedAgain(t *testing.T) {
	// The log begins with the arguments, so a script must not contain the text of the fault.
	const count = "echo >> runs; n=$(wc -l < runs); "
	runs := func(p *process) int {
		data, _ := os.ReadFile(filepath.Join(p.spec.dir, "runs"))
		return len(data)
	}
	for title, tc := range map[string]struct {
		script string
		starts bool
		runs   int
	}{
		"crashes once":            {"if [ $n = 1 ]; then echo known ''fault; exit 2; fi; touch up; sleep 60", true, 2},
		"crashes always":          {"echo known ''fault; exit 2", false, mostCrashes + 1},
		"ends for another reason": {"echo another fault; exit 2", false, 1},
		"ends for another reason after the crash": {
			"if [ $n = 1 ]; then echo known ''fault; else echo another fault; fi; exit 2", false, 2},
	} {
		t.Run(title, func(t *testing.T) {
			p := shell(t, count+tc.script, func(sp *spec) { sp.crash = "known fault" })
			p.spec.ready = fileThere(p, "up")
			if err := p.start(within(t)); (err == nil) != tc.starts || runs(p) != tc.runs {
				t.Errorf("%d runs, want %d: %v", runs(p), tc.runs, err)
			}
		})
	}
}

func TestProcessThatIsNotReadyInTimeIsStopped(t *testing.T) {
	p := shell(t, "sleep 60", func(sp *spec) {
		sp.timeout = time.Millisecond
		sp.ready = func(context.Context) error { return errors.New("answered 500") }
	})
	err := p.start(within(t))
	if err == nil || !strings.Contains(err.Error(), "not ready within 1ms") || !strings.Contains(err.Error(), "answered 500") {
		t.Errorf("got %v", err)
	}
	if p.running() {
		t.Error("it was left running")
	}
}

func TestProcessTakesItsChildrenAlong(t *testing.T) {
	p := shell(t, "sleep 300 & echo $! > child; mv child up; wait", func(sp *spec) { sp.grace = time.Millisecond })
	p.spec.ready = fileThere(p, "up")
	if err := p.start(within(t)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(p.spec.dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	child, err := refOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	p.stop()
	if err := poll(within(t), time.Millisecond, func(context.Context) error {
		if child.Alive() {
			return errors.New("the child still runs")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestProcessIsStartedAgainUnlessItWasStopped(t *testing.T) {
	p := shell(t, "echo run >> runs; sleep 300", func(sp *spec) { sp.restart = true })
	p.spec.ready = fileThere(p, "runs")
	if err := p.start(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := p.reference().kill(); err != nil {
		t.Fatal(err)
	}
	if err := poll(within(t), 10*time.Millisecond, func(context.Context) error {
		if status := p.status(); !status.Running || status.Restarts != 1 {
			return errors.New("not started again")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p.stop()
	if p.running() {
		t.Error("it came back after it was stopped")
	}
}

func TestTailGivesTheLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("early\n", 20000)+"one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := lastLines(path, 2); err != nil || got != "two\nthree" {
		t.Errorf("got %q, %v", got, err)
	}
	if got := tail(path+"x", 2); !strings.Contains(got, "cannot be read") {
		t.Errorf("got %q", got)
	}
}
