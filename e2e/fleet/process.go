package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A spec says how a process is run.
type spec struct {
	owner, name, path string
	args, env         []string
	dir, log          string
	// layer orders the end: higher layers stop first.
	layer int
	// ready is asked until it answers nil.
	ready probe
	// restart brings the process back when it ends by itself, as a kubelet would.
	restart bool
	// end is the signal that asks for the end; SIGTERM if there is none.
	end syscall.Signal
	// timeout bounds the wait for ready, grace the wait for the end.
	timeout, grace time.Duration
}

// title names the process in messages and its log.
func (s spec) title() string {
	if s.name == "" {
		return s.owner
	}
	return s.owner + "-" + s.name
}

// A process is a program that is run, watched and stopped.
type process struct {
	spec spec
	// changed is called after each start and end; say tells the user what happened unasked.
	changed func()
	say     func(format string, args ...any)

	op sync.Mutex // one start or stop at a time

	mu       sync.Mutex
	cmd      *exec.Cmd
	ref      ProcessRef
	exited   chan struct{} // closed when the present run has ended
	reaped   chan struct{} // closed when that has been written down as well
	exit     error
	since    time.Time
	restarts int
	cancel   context.CancelFunc // ends the restarting
}

const (
	firstBackoff = time.Second
	lastBackoff  = 16 * time.Second
)

// start runs the process and waits until it is ready. It does nothing to one that runs.
func (p *process) start(ctx context.Context) error {
	p.op.Lock()
	defer p.op.Unlock()
	if p.running() {
		return nil
	}
	if err := p.launch(); err != nil {
		return err
	}
	if err := p.waitReady(ctx); err != nil {
		p.halt()
		return err
	}
	p.watch(ctx)
	return nil
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
	if err := spawn(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", p.spec.title(), err)
	}
	ref, _ := refOf(cmd.Process.Pid) // one that has ended already is noticed below
	exited, reaped := make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	p.cmd, p.ref, p.exited, p.reaped, p.exit, p.since = cmd, ref, exited, reaped, nil, time.Now()
	p.mu.Unlock()
	go p.reap(cmd, exited, reaped)
	p.changed()
	return nil
}

// reap waits for the end of a run, and ends what it left behind in its group.
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
			died(fmt.Errorf("it ended: %w", p.exitErr()))
		case <-ctx.Done():
		}
	}()
	if err := poll(ctx, 100*time.Millisecond, p.spec.ready); err != nil {
		return fmt.Errorf("%s did not come up: %w\n%s", p.spec.title(), err, tail(p.spec.log, 25))
	}
	return nil
}

// stop ends the process and waits for the end. It does nothing to one that does not run.
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
