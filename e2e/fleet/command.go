package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Command is a program that runs beside the fleet, for example Towline.
type Command struct {
	// Name is the unique name of the program. Its log is <name>.log.
	Name string
	// Path is the path of the program.
	Path string
	// Args are the arguments, Env is added to the environment of this process, and Dir is the working directory.
	Args, Env []string
	Dir       string
	// In is the plane in whose network the program runs. Processes outside then reach the program at the addresses of
	// Serves. Without In, the program runs in the network of the machine.
	In     *ControlPlane
	Serves []string
	// Ready is called until it returns nil. Without Ready, the program is ready when it has started.
	Ready func(ctx context.Context) error
	// ReadyTimeout is the time limit for Ready. Default: one minute.
	ReadyTimeout time.Duration
	// StopGrace is the time between the signal to end and the kill. Default: 15s.
	StopGrace time.Duration
}

// A Process is a program of Run.
type Process struct{ process *process }

// Run starts a program and waits until the program is ready. The program ends with Stop, with the fleet's Stop, or with
// this process. If the program ends before it is ready, the error has the end of its log. ctx is only for the start.
func (f *Fleet) Run(ctx context.Context, c Command) (*Process, error) {
	sp := spec{
		owner: filepath.Base(c.Name), path: c.Path, args: c.Args, env: append(os.Environ(), c.Env...), dir: c.Dir,
		log: f.paths.log(c.Name), ready: c.Ready, timeout: c.ReadyTimeout, grace: c.StopGrace,
	}
	if sp.timeout == 0 {
		sp.timeout = time.Minute
	}
	if sp.grace == 0 {
		sp.grace = 15 * time.Second
	}
	if c.In != nil && c.In.netns != nil {
		sp.netns = c.In.netns
		if err := sp.netns.serve(c.Serves...); err != nil {
			return nil, err
		}
	}
	p := &process{spec: sp, changed: func() {}, say: func(string, ...any) {}}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	run := &Process{p}
	f.runs = append(f.runs, run)
	return run, nil
}

// PID returns the pid of the process.
func (p *Process) PID() int {
	p.process.mu.Lock()
	defer p.process.mu.Unlock()
	return p.process.ref.PID
}

// Log returns the path of the file with the output of the process.
func (p *Process) Log() string { return p.process.spec.log }

// LogTail returns the last lines of the log.
func (p *Process) LogTail(lines int) string { return tail(p.Log(), lines) }

// MemoryKB returns the resident memory of the process in KiB, or 0 if the value is unknown.
func (p *Process) MemoryKB() int { return residentKB(p.PID()) }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.process.exitedChan() }

// Err returns how the process ended, or nil while the process runs.
func (p *Process) Err() error { return p.process.exitErr() }

// Stop asks the process to end, waits, and kills the process after its grace.
func (p *Process) Stop() { p.process.stop() }

// Kill ends the process at once, as a crash would.
func (p *Process) Kill() error {
	ref := p.process.reference()
	if err := ref.kill(); err != nil {
		return fmt.Errorf("%s: %w", p.process.spec.title(), err)
	}
	<-p.Exited()
	return nil
}

// Restart starts the process again after Stop, Kill or its own end, with the same arguments.
func (p *Process) Restart(ctx context.Context) error { return p.process.start(ctx) }

// FreePorts returns n free ports of 127.0.0.1 for programs of Run. No port is returned twice: a ready program may
// listen on its further ports only later, and a stopped program needs its ports again.
func (f *Fleet) FreePorts(n int) ([]int, error) {
	out := make([]int, n)
	for i := range out {
		port, err := f.ports.take("a program of Run")
		if err != nil {
			return nil, err
		}
		out[i] = port
	}
	return out, nil
}

// HTTPReady returns a value for Command.Ready: the program is ready when a GET of the address answers 200.
func HTTPReady(url string) func(ctx context.Context) error { return httpProbe(url) }
