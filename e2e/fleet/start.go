package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Start starts a fleet and returns when the whole fleet is ready. If a part fails, or if ctx ends before, Start stops
// the fleet and returns an error. After the start, ctx has no effect any more, and Stop ends the fleet. The fleet's
// processes die at any end of this process.
func Start(ctx context.Context, opts Options) (*Fleet, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	s := &supervisor{opts: opts, paths: paths{opts.Dir}, began: time.Now(), down: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.down:
			cancel(errors.New("the fleet was asked to end"))
		case <-ctx.Done():
		}
	}()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.startAll(ctx); err != nil {
		s.stop(true)
		if ctx.Err() != nil {
			err = fmt.Errorf("the start was interrupted: %w", context.Cause(ctx))
		}
		return nil, err
	}
	f, err := newFleet(s.paths, s.status(), localControl{s})
	if err != nil {
		s.stop(true)
		return nil, err
	}
	f.stop = func() { s.stop(false) }
	s.progress("ready")
	return f, nil
}

// prepare checks the requirements, claims the state directory and builds the programs.
func (s *supervisor) prepare(ctx context.Context) (err error) {
	if _, err := gitBackend(ctx); err != nil {
		return err
	}
	builder := s.builder()
	if s.programs, err = builder.Build(ctx); err != nil {
		return err
	}
	if s.unlock, err = claim(s.paths, s.progress); err != nil {
		return err
	}
	s.began = time.Now()
	s.ports = newPortAllocator(s.opts.BasePort, s.paths.root)
	err = errors.Join(s.createPlanes(), s.linkPrograms())
	if err == nil {
		s.control, err = serveControl(s)
	}
	if err != nil {
		s.stop(true)
	}
	return err
}

// builder returns a Builder for the fleet's options.
func (s *supervisor) builder() *Builder {
	return &Builder{
		CacheDir: s.opts.CacheDir, SourceDir: s.opts.SourceDir, ArgoCD: s.opts.ArgoCD, End: s.opts.End,
		Transport: s.opts.Transport, Progress: s.opts.Progress,
	}
}

func (s *supervisor) createPlanes() (err error) {
	// A new fleet starts with an empty folder of logs.
	if err := errors.Join(removeAll(s.paths.logs()), s.paths.create()); err != nil {
		return err
	}
	if s.hub, err = s.newPlane(hubName); err != nil {
		return err
	}
	for _, name := range s.opts.Clusters {
		cluster, err := s.newPlane(name)
		if err != nil {
			return err
		}
		s.clusters = append(s.clusters, cluster)
	}
	return s.takeWellKnownPorts()
}

// takeWellKnownPorts takes the ports for people first. With a base port, these ports are then the same for each start.
func (s *supervisor) takeWellKnownPorts() (err error) {
	if s.gitPort, err = s.ports.take("git"); err != nil {
		return err
	}
	if _, err := s.hub.addresses("kube-apiserver", "argocd-server"); err != nil {
		return err
	}
	for _, cluster := range s.clusters {
		if _, err := cluster.addresses("kube-apiserver"); err != nil {
			return err
		}
	}
	return nil
}

// linkPrograms fills a folder that serves as PATH: for the repo servers, and for a user's shell. Its Argo CD programs
// are of the hub's version. The argocd CLI of each version is argocd-<version>.
func (s *supervisor) linkPrograms() error {
	links := map[string]string{}
	for _, name := range s.programs.Names() {
		links[name] = s.programs.Path(name)
	}
	for _, a := range argoCDs {
		if slices.Contains(s.opts.ArgoCD, a.version) {
			links["argocd-"+a.version] = s.programs.of(a.set, "argocd")
		}
	}
	for _, name := range append([]string{"argocd"}, argoServers...) {
		links[name] = s.programs.of(s.hub.argo.set, name)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(s.paths.bin(), name)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("linking programs: %w", err)
		}
	}
	return nil
}

// startAll starts the Git server, the hub and the clusters. Independent parts start in parallel.
func (s *supervisor) startAll(ctx context.Context) error {
	if err := s.startGitServer(ctx); err != nil {
		return err
	}
	hubReady := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.hub.startHub(ctx); err != nil {
			return err
		}
		close(hubReady)
		return s.onHub(ctx)
	})
	for _, cluster := range s.clusters {
		group.Go(func() error { return cluster.startCluster(ctx, hubReady) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.checkExtras(); err != nil {
		return err
	}
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	s.save()
	return nil
}

// onHub calls Options.OnHub with a Fleet of the hub alone.
func (s *supervisor) onHub(ctx context.Context) error {
	if s.opts.OnHub == nil {
		return nil
	}
	status := s.status()
	status.Planes = slices.DeleteFunc(status.Planes, func(p PlaneStatus) bool { return p.Name != hubName })
	f, err := newFleet(s.paths, status, localControl{s})
	if err != nil {
		return err
	}
	return s.opts.OnHub(ctx, f)
}

func (s *supervisor) startGitServer(ctx context.Context) error {
	server, err := startGit(ctx, s.paths.git(), loopback(s.gitPort), s.paths.log("git"))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.git = server
	s.mu.Unlock()
	return nil
}

// stop ends the fleet in reverse order: clusters, hub, then the servers in this process. It removes the data and keeps
// the logs. It may be called twice.
func (s *supervisor) stop(failed bool) {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return
	}
	s.stopped, s.ready = true, false
	s.mu.Unlock()
	var wait sync.WaitGroup
	for _, cluster := range s.clusters {
		wait.Go(func() { s.stopPlane(cluster) })
	}
	wait.Wait()
	s.stopPlane(s.hub)
	if s.git != nil {
		s.git.stop()
	}
	if s.control != nil {
		_ = s.control.Close()
	}
	s.saveMu.Lock() // from now on, the end of a process does not write the state file
	defer s.saveMu.Unlock()
	if err := removeState(s.paths, false); err != nil {
		s.progress("removing data: %v", err)
	}
	s.ports.release()
	if s.unlock != nil {
		s.unlock()
	}
	if failed {
		s.progress("stopped; the logs are in %s", s.paths.logs())
	}
}

func (s *supervisor) stopPlane(p *plane) {
	if p == nil {
		return
	}
	s.stopOwner(p.name)
	if err := p.leaveNetns(); err != nil {
		s.progress("%v", err)
	}
	if p.redis != nil {
		p.redis.stop()
	}
}
