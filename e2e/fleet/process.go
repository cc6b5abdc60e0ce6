package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A spec describes how to run a process.
type spec struct {
	owner, name, path string
	args, env         []string
	dir, log          string
	// netns is the network namespace of the process; nil for the network of the machine.
	netns *netns
	// layer is the order of the stop: higher layers stop first.
	layer int
	// ready is called until it returns nil.
	ready probe
	// restart starts the process again after an unrequested end, as a kubelet would.
	restart bool
	// crash is a text in the log of a program that a known fault ends at the start, rarely. The program is then started
	// again, as a kubelet would. Empty for none.
	crash string
	// end is the signal that requests the end. Zero means SIGTERM.
	end syscall.Signal
	// timeout is the time limit for ready, and grace is the time limit for the end.
	timeout, grace time.Duration
}

// title returns the name of the process in messages and of its log.
func (s spec) title() string {
	if s.name == "" {
		return s.owner
	}
	return s.owner + "-" + s.name
}

// A process is a program that the fleet runs, watches and stops.
type process struct {
	spec spec
	// changed is called after each start and end. say reports unrequested events to the user.
	changed func()
	say     func(format string, args ...any)

	op sync.Mutex // one start or stop at a time

	mu       sync.Mutex
	cmd      *exec.Cmd
	ref      ProcessRef
	exited   chan struct{} // closed when the current run has ended
	reaped   chan struct{} // closed when the end is recorded
	exit     error
	since    time.Time
	restarts int
	cancel   context.CancelFunc // ends the restarting
}

const (
	firstBackoff = time.Second
	lastBackoff  = 16 * time.Second

	// mostCrashes is the maximum number of crashes by a known fault in one start.
	mostCrashes = 3
)

// start runs the process and waits until the process is ready. It has no effect on a running process.
func (p *process) start(ctx context.Context) error {
	p.op.Lock()
	defer p.op.Unlock()
	if p.running() {
		return nil
	}
	for crashes := 0; ; crashes++ {
		before := size(p.spec.log)
		if err := p.launch(); err != nil {
			return err
		}
		err := p.waitReady(ctx)
		if err == nil {
			break
		}
		p.halt()
		if crashes == mostCrashes || !p.crashed(before) {
			return err
		}
		p.say("%s crashed at its start by a known fault, and is started again", p.spec.title())
	}
	p.watch(ctx)
	return nil
}

// crashed reports whether the log after the first bytes has the text of the known fault.
func (p *process) crashed(after int64) bool {
	if p.spec.crash == "" {
		return false
	}
	log, err := os.ReadFile(p.spec.log)
	return err == nil && int64(len(log)) > after && bytes.Contains(log[after:], []byte(p.spec.crash))
}

// size returns the number of bytes in a file; 0 for none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (p *process) launch() error {
	log, err := os.OpenFile(p.spec.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("log of %s: %w", p.spec.title(), err)
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s: %s %q\n", time.Now().Format(time.RFC3339), p.spec.path, p.spec.args)
	cmd := exec.Command(p.spec.path, p.spec.args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.spec.env, p.spec.dir, log, log
	if err := spawn(cmd, p.spec.netns); err != nil {
		return fmt.Errorf("starting %s: %w", p.spec.title(), err)
	}
	ref, _ := refOf(cmd.Process.Pid) // an end before this line is noticed below
	exited, reaped := make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	p.cmd, p.ref, p.exited, p.reaped, p.exit, p.since = cmd, ref, exited, reaped, nil, time.Now()
	p.mu.Unlock()
	go p.reap(cmd, exited, reaped)
	p.changed()
	return nil
}

// reap waits for the end of a run, and kills the remaining processes of its group.
func (p *process) reap(cmd *exec.Cmd, exited, reaped chan struct{}) {
	defer close(reaped)
	err := cmd.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	p.mu.Lock()
	p.exit = err
	p.mu.Unlock()
	close(exited)
	p.changed()
}

func (p *process) waitReady(ctx context.Context) error {
	if p.spec.ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.spec.timeout, fmt.Errorf("not ready within %s", p.spec.timeout))
	defer cancel()
	ctx, died := context.WithCancelCause(ctx)
	defer died(nil)
	exited := p.exitedChan()
	go func() {
		select {
		case <-exited:
			died(fmt.Errorf("the process ended: %w", p.exitErr()))
		case <-ctx.Done():
		}
	}()
	if err := poll(ctx, 100*time.Millisecond, p.spec.ready); err != nil {
		return fmt.Errorf("%s did not come up: %w\n%s", p.spec.title(), err, tail(p.spec.log, 25))
	}
	return nil
}

// stop ends the process and waits for the end. It has no effect on a stopped process.
func (p *process) stop() {
	p.mu.Lock()
	if p.cancel != nil {
		p.cancel()
		p.cancel = nil
	}
	p.mu.Unlock()
	p.op.Lock()
	defer p.op.Unlock()
	p.halt()
}

func (p *process) halt() {
	if !p.running() {
		return
	}
	p.mu.Lock()
	pid, reaped, end := p.cmd.Process.Pid, p.reaped, p.spec.end
	p.mu.Unlock()
	if end == 0 {
		end = syscall.SIGTERM
	}
	_ = syscall.Kill(pid, end)
	select {
	case <-reaped:
		return
	case <-time.After(p.spec.grace):
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-reaped
}

func (p *process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// wanted reports whether the process runs, or waits for its restart.
func (p *process) wanted() bool {
	p.mu.Lock()
	watched := p.cancel != nil
	p.mu.Unlock()
	return watched || p.running()
}

func (p *process) exitedChan() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

func (p *process) exitErr() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

func (p *process) reference() ProcessRef {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ref
}
