package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Status describes a fleet. The state file has the same form.
type Status struct {
	Dir        string     `json:"dir"`
	Ready      bool       `json:"ready"`
	Started    time.Time  `json:"started"`
	Supervisor ProcessRef `json:"supervisor"`
	Git        string     `json:"git,omitempty"`
	ArgoCD     string     `json:"argocd,omitempty"`
	// Maestro is the root of Maestro's REST API, and MaestroGRPC the address of its gRPC server. Both are empty without
	// Maestro.
	Maestro     string `json:"maestro,omitempty"`
	MaestroGRPC string `json:"maestroGRPC,omitempty"`
	// Broker is the address of the MQTT broker between Maestro and the work agents.
	Broker string `json:"broker,omitempty"`
	// BrokerAccounts is the address of the broker for clusters with separate accounts. The rules are from
	// docs/maestro.md.
	BrokerAccounts string `json:"brokerAccounts,omitempty"`
	// Database is the address of the PostgreSQL with Maestro's works.
	Database string        `json:"database,omitempty"`
	Planes   []PlaneStatus `json:"planes"`
}

// A PlaneStatus describes the hub or a managed cluster.
type PlaneStatus struct {
	Name       string `json:"name"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// ArgoCD is the version of the plane's Argo CD, as in Options.ArgoCD.
	ArgoCD string `json:"argocd,omitempty"`
	// Redis is the address of the Redis of the plane's Argo CD. Etcd is the address of the API server's etcd.
	Redis string `json:"redis,omitempty"`
	Etcd  string `json:"etcd,omitempty"`
	// Available is the status of the ManagedCluster's condition. It is read from the hub, and not stored.
	Available string          `json:"available,omitempty"`
	Processes []ProcessStatus `json:"processes"`
}

// A ProcessStatus describes one process.
type ProcessStatus struct {
	Name string `json:"name"`
	ProcessRef
	Running  bool      `json:"running"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts,omitempty"`
	Exit     string    `json:"exit,omitempty"`
	MemoryKB int       `json:"memoryKB,omitempty"`
	Log      string    `json:"log"`
}

// status returns the current status of the fleet.
func (s *supervisor) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	self, _ := refOf(os.Getpid())
	status := Status{Dir: s.paths.root, Ready: s.ready, Started: s.began, Supervisor: self}
	if s.git != nil {
		status.Git = s.git.url
	}
	for _, p := range append([]*plane{s.hub}, s.clusters...) {
		if p == nil {
			continue
		}
		status.Planes = append(status.Planes, s.planeStatus(p))
	}
	if s.hub != nil && !s.opts.HubControlPlaneOnly {
		status.ArgoCD = "http://" + s.hub.address("argocd-server")
	}
	if s.hub != nil && s.runsMaestro() {
		status.Maestro, status.MaestroGRPC, status.Broker = s.hub.maestroURL(), s.hub.address("maestro-grpc-server"), s.hub.address("mosquitto")
		status.Database, status.BrokerAccounts = s.hub.address("postgres"), s.hub.address(brokerAccounts)
	}
	return status
}

func (s *supervisor) planeStatus(p *plane) PlaneStatus {
	status := PlaneStatus{Name: p.name, Server: p.server, Kubeconfig: s.paths.kubeconfig(p.name)}
	if !p.guest {
		status.Server, status.Etcd, status.ArgoCD = "https://"+p.address("kube-apiserver"), p.address("etcd"), p.argo.version
	}
	if !p.guest && (p != s.hub || !s.opts.HubControlPlaneOnly) {
		status.Redis = p.address("redis")
	}
	for _, proc := range s.processes {
		if proc.spec.owner == p.name {
			status.Processes = append(status.Processes, proc.status())
		}
	}
	return status
}

func (p *process) status() ProcessStatus {
	running := p.running()
	p.mu.Lock()
	defer p.mu.Unlock()
	status := ProcessStatus{
		Name: p.spec.name, ProcessRef: p.ref, Running: running, Since: p.since, Restarts: p.restarts, Log: p.spec.log,
	}
	if running {
		status.MemoryKB = residentKB(p.ref.PID)
	} else if p.exit != nil {
		status.Exit = p.exit.Error()
	}
	return status
}

// save writes the state file. A later start reads the file to find the leftovers of this fleet.
func (s *supervisor) save() {
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	if s.isStopped() {
		return
	}
	if err := writeState(s.paths, s.status()); err != nil {
		s.progress("state file: %v", err)
	}
}

func (s *supervisor) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

func writeState(dirs paths, status Status) error {
	data, err := json.MarshalIndent(status, "", "  ")
	if err != nil {
		return err
	}
	part := dirs.state() + ".part"
	if err := os.WriteFile(part, data, 0o644); err != nil {
		return err
	}
	return os.Rename(part, dirs.state())
}

// readState reads the state file. The error is os.ErrNotExist if there is no file.
func readState(dirs paths) (Status, error) {
	var status Status
	data, err := os.ReadFile(dirs.state())
	if err != nil {
		return status, err
	}
	if err := json.Unmarshal(data, &status); err != nil {
		return status, fmt.Errorf("%s is damaged (remove the folder %s): %w", dirs.state(), filepath.Dir(dirs.state()), err)
	}
	return status, nil
}
