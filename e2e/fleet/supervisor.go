package fleet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// A supervisor runs a fleet: it owns the processes and the state file.
type supervisor struct {
	opts     Options
	paths    paths
	programs *Programs
	ports    *portAllocator
	began    time.Time

	mu        sync.Mutex
	processes []*process // in the order of their first start
	hub       *plane
	clusters  []*plane
	ready     bool
	stopped   bool
	git       *gitServer
	gitPort   int
	unlock    func()
	control   io.Closer
	down      chan struct{} // closed on a request to end the fleet
	downOnce  sync.Once

	saveMu sync.Mutex
}

// progress prints a line with the seconds since the start.
func (s *supervisor) progress(format string, args ...any) {
	fmt.Fprintf(s.opts.Progress, "%5.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// run starts a process and registers it.
func (s *supervisor) run(ctx context.Context, sp spec) error {
	p, err := s.register(sp)
	if err != nil {
		return err
	}
	return p.start(ctx)
}

// register registers a process under its owner and name. A second call with the same owner and name replaces the spec.
func (s *supervisor) register(sp spec) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("%s is not started: the fleet is being stopped", sp.title())
	}
	s.complete(&sp)
	for _, p := range s.processes {
		if p.spec.owner == sp.owner && p.spec.name == sp.name {
			p.spec = sp
			return p, nil
		}
	}
	p := &process{spec: sp, changed: s.save, say: s.progress}
	s.processes = append(s.processes, p)
	return p, nil
}

func (s *supervisor) complete(sp *spec) {
	for _, key := range []string{sp.name, sp.owner + "/" + sp.name} {
		sp.args = append(slices.Clip(sp.args), s.opts.ExtraArgs[key]...)
		sp.env = append(slices.Clip(sp.env), s.opts.ExtraEnv[key]...)
	}
	sp.log = s.paths.log(sp.title())
	if p := s.planeOf(sp.owner); p != nil {
		sp.netns = p.netns
	}
	if sp.timeout == 0 {
		sp.timeout = s.opts.ReadyTimeout
	}
	if sp.grace == 0 {
		sp.grace = 5 * time.Second
	}
}

// checkExtras refuses extra arguments or environment variables for processes that do not run.
func (s *supervisor) checkExtras() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string]bool{}
	for _, p := range s.processes {
		known[p.spec.name], known[p.spec.owner+"/"+p.spec.name] = true, true
	}
	for _, key := range append(sortedKeys(s.opts.ExtraArgs), sortedKeys(s.opts.ExtraEnv)...) {
		if !known[key] {
			return fmt.Errorf("extra arguments or environment are given for %q, which this fleet does not run: it has %v", key, sortedKeys(known))
		}
	}
	return nil
}

// find returns an owner's processes by the name of a process or of a group.
func (s *supervisor) find(owner, what string) ([]*process, error) {
	names := []string{what}
	if group, ok := groups[what]; ok {
		names = group
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*process
	var known []string
	for _, p := range s.processes {
		if p.spec.owner != owner {
			continue
		}
		known = append(known, p.spec.name)
		if slices.Contains(names, p.spec.name) {
			found = append(found, p)
		}
	}
	if len(found) == 0 && len(known) == 0 {
		return nil, fmt.Errorf("%q does not exist: this fleet has %v", owner, s.planeNames())
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s runs no %q: name one of %v, or a group of %v", owner, what, known, sortedKeys(groups))
	}
	return found, nil
}

// groups are the names by which several processes are stopped and started together.
var groups = map[string][]string{
	"agent":     {"registration-agent", "work-agent"},
	"apiserver": {"kube-apiserver"},
	"argocd":    {"argocd-application-controller", "argocd-repo-server", "argocd-applicationset-controller", "argocd-server"},
}

func (s *supervisor) stopProcess(_ context.Context, owner, what string) error {
	found, err := s.find(owner, what)
	if err != nil {
		return err
	}
	stopEach(found)
	return nil
}

func (s *supervisor) startProcess(ctx context.Context, owner, what string) error {
	found, err := s.find(owner, what)
	if err != nil {
		return err
	}
	for _, p := range found {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stopOwner stops all processes of an owner, the highest layer first.
func (s *supervisor) stopOwner(owner string) {
	s.mu.Lock()
	layers := map[int][]*process{}
	for _, p := range s.processes {
		if p.spec.owner == owner {
			layers[p.spec.layer] = append(layers[p.spec.layer], p)
		}
	}
	s.mu.Unlock()
	keys := sortedKeys(layers)
	slices.Reverse(keys)
	for _, layer := range keys {
		stopEach(layers[layer])
	}
}

func stopEach(processes []*process) {
	var wait sync.WaitGroup
	for _, p := range processes {
		wait.Go(p.stop)
	}
	wait.Wait()
}

// planeOf returns the hub or the cluster of a name; nil for none.
func (s *supervisor) planeOf(name string) *plane {
	if name == hubName {
		return s.hub
	}
	for _, c := range s.clusters {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (s *supervisor) planeNames() []string {
	names := []string{hubName}
	for _, c := range s.clusters {
		names = append(names, c.name)
	}
	return names
}

// requestDown asks the process that started the fleet to end the fleet.
func (s *supervisor) requestDown() { s.downOnce.Do(func() { close(s.down) }) }
