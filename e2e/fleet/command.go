package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Command is a program that is run beside the fleet, such as Towline.
type Command struct {
	// Name is that of its log, <name>.log, and must be the only one of that name.
	Name string
	// Path is the program.
	Path string
	// Args are its arguments, Env is added to the environment of this process, Dir is where it runs.
	Args, Env []string
	Dir       string
	// Ready is asked until it answers nil; without it the program is ready when it has started.
	Ready func(ctx context.Context) error
	// ReadyTimeout bounds that. Default: one minute.
	ReadyTimeout time.Duration
	// StopGrace is how long it may take to end before it is killed. Default: 15s.
	StopGrace time.Duration
}

// A Process is a program that Run started.
type Process struct{ process *process }

// Run starts a program and waits until it is ready. It ends with Stop, with the fleet's Stop, or with this
// process. If it ends before it is ready, the error holds the end of its log. ctx bounds the start only.
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

// PID is the number of the process.
func (p *Process) PID() int {
	p.process.mu.Lock()
	defer p.process.mu.Unlock()
	return p.process.ref.PID
}

// Log is the file that holds what the process prints.
func (p *Process) Log() string { return p.process.spec.log }

// LogTail gives the last lines of the log.
func (p *Process) LogTail(lines int) string { return tail(p.Log(), lines) }

// MemoryKB is the resident memory of the process, or 0 where that cannot be told.
func (p *Process) MemoryKB() int { return residentKB(p.PID()) }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.process.exitedChan() }

// Err says how the process ended; it is nil while it runs.
func (p *Process) Err() error { return p.process.exitErr() }

// Stop asks the process to end, waits, and kills it if it takes longer than it may.
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

// FreePorts gives ports of 127.0.0.1 that nobody listens on, for programs of Run. It gives none twice: a program that is ready may
// listen on the others of its ports only a moment later, and one that is stopped for a while finds its own again.
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

// HTTPReady is a Ready of Command: a GET of the address answers 200.
func HTTPReady(url string) func(ctx context.Context) error { return httpProbe(url) }
