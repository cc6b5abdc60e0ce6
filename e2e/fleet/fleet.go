package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A Fleet is a hub with its managed clusters and a Git server, run by this process or by another process.
type Fleet struct {
	// Hub is the Open Cluster Management hub.
	Hub *Hub
	// Git is the Git server from which the clusters deploy.
	Git *Git

	paths    paths
	control  control
	clusters []*Cluster
	stop     func()

	ports *portAllocator // for programs of Run

	mu   sync.Mutex
	runs []*Process
}

func newFleet(dirs paths, status Status, c control) (*Fleet, error) {
	f := &Fleet{
		paths: dirs, control: c, Git: &Git{dir: dirs.git(), url: status.Git},
		ports: newPortAllocator(0, fmt.Sprintf("%s run %d", dirs.root, os.Getpid())),
	}
	for _, plane := range status.Planes {
		config, err := loadRESTConfig(plane.Kubeconfig)
		if err != nil {
			return nil, err
		}
		common := ControlPlane{name: plane.Name, fleet: f, config: config, argocd: plane.ArgoCD, redis: plane.Redis, etcd: plane.Etcd}
		if plane.Name == hubName {
			f.Hub = &Hub{ControlPlane: common, url: status.ArgoCD, maestro: status.Maestro, maestroGRPC: status.MaestroGRPC}
		} else {
			f.clusters = append(f.clusters, &Cluster{ControlPlane: common})
		}
	}
	return f, nil
}

// Clusters returns the managed clusters.
func (f *Fleet) Clusters() []*Cluster { return f.clusters }

// Cluster returns a managed cluster by name. It panics for an unknown name, because a test knows the names of its
// clusters.
func (f *Fleet) Cluster(name string) *Cluster {
	for _, c := range f.clusters {
		if c.name == name {
			return c
		}
	}
	panic(fmt.Sprintf("fleet: managed cluster %q does not exist in %s", name, f.paths.root))
}

// Dir returns the state directory.
func (f *Fleet) Dir() string { return f.paths.root }

// Logs returns the folder of the processes' logs: <hub|cluster>-<process>.log.
func (f *Fleet) Logs() string { return f.paths.logs() }

// Bin returns a folder of programs for a PATH: kubectl, argocd, kustomize and the rest.
func (f *Fleet) Bin() string { return f.paths.bin() }

// Program returns the path of a program in Bin.
func (f *Fleet) Program(name string) string { return filepath.Join(f.paths.bin(), name) }

// Status returns the status of the fleet and its processes.
func (f *Fleet) Status(ctx context.Context) (Status, error) { return f.control.status(ctx) }

// Stop ends the processes of Run, and a fleet of Start. A fleet of Connect stays up, because another process runs it.
// Stop may be called twice.
func (f *Fleet) Stop() {
	f.mu.Lock()
	runs := f.runs
	f.runs = nil
	f.mu.Unlock()
	for _, run := range slices.Backward(runs) {
		run.Stop()
	}
	f.ports.release()
	if f.stop != nil {
		f.stop()
	}
}

// DownRequested is closed when `fleet down` asks this process to end its fleet. It is nil for a fleet of Connect.
func (f *Fleet) DownRequested() <-chan struct{} {
	if local, ok := f.control.(localControl); ok {
		return local.s.down
	}
	return nil
}
