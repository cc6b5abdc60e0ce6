package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// DirEnv names the environment variable that overrides the default state directory.
const DirEnv = "TOWLINE_FLEET_DIR"

// ArgoCDEnv names the environment variable that overrides the default versions of Argo CD, with commas between them.
const ArgoCDEnv = "TOWLINE_FLEET_ARGOCD"

// OldestEnv and NewestEnv name the environment variables that choose an end, if the variable is not empty.
const (
	OldestEnv = "TOWLINE_FLEET_OLDEST"
	NewestEnv = "TOWLINE_FLEET_NEWEST"
)

// An End is an end of the supported versions. The empty End means the usual versions of a fleet.
type End string

// The ends. The newest OCM is also the usual OCM.
const (
	Oldest End = "oldest"
	Newest End = "newest"
)

// EndOr returns the end that the environment chooses, and else the given end.
func EndOr(end End) End {
	switch {
	case os.Getenv(OldestEnv) != "":
		return Oldest
	case os.Getenv(NewestEnv) != "":
		return Newest
	}
	return end
}

func (e End) validate() error {
	if os.Getenv(OldestEnv) != "" && os.Getenv(NewestEnv) != "" {
		return fmt.Errorf("both %s and %s are set: a fleet has the oldest or the newest versions", OldestEnv, NewestEnv)
	}
	if ends := []End{"", Oldest, Newest}; !slices.Contains(ends, e) {
		return fmt.Errorf("versions %q are not among those of a fleet: name one of %v", e, ends[1:])
	}
	return nil
}

// ArgoCD returns the versions of Argo CD in a fleet without a choice of the user. The newest Argo CD runs beside the oldest.
func (e End) ArgoCD() []string {
	switch e {
	case Oldest:
		return []string{"2.14"}
	case Newest:
		return []string{"3.6", "2.14"}
	}
	return []string{"3", "2.14"}
}

// Options configure Start. The zero value means a hub and two managed clusters.
type Options struct {
	// Dir is the state directory. Default: $TOWLINE_FLEET_DIR, else .fleet in the root of the checkout.
	Dir string
	// Clusters are the names of the managed clusters. Default: cluster1, cluster2.
	Clusters []string
	// ClusterLabels are extra labels of a ManagedCluster, by the cluster's name (for example env=dev).
	ClusterLabels map[string]map[string]string
	// ArgoCD are versions of Argo CD, members of ArgoCDVersions. The hub has the first version. The clusters have the
	// versions in turn, beginning with the first. Default: $TOWLINE_FLEET_ARGOCD, else the versions of End.ArgoCD.
	ArgoCD []string
	// End runs the oldest or the newest supported versions of Kubernetes and OCM, on the hub and on the clusters.
	// $TOWLINE_FLEET_OLDEST or $TOWLINE_FLEET_NEWEST, if not empty, takes its place.
	End End
	// Transport is where the work agents fetch works: TransportHub or TransportMaestro. Default: TransportHub.
	Transport string
	// PgBouncer puts PgBouncer between Maestro and its database.
	PgBouncer bool
	// MaestroServers is the number of Maestro servers. Default: 1.
	MaestroServers int
	// HubControlPlaneOnly starts only etcd and kube-apiserver of the hub, with every CRD, and Maestro if Transport is
	// TransportMaestro.
	HubControlPlaneOnly bool
	// NoSetsOnClusters leaves the CRD of ApplicationSets out of the clusters, where only argocd-server and the argocd CLI
	// read the CRD. An API server needs 1.5 s of CPU for this CRD of 1 MB.
	NoSetsOnClusters bool
	// BasePort numbers the ports from this port, and a used port is an error. Default: the fleet looks for free ports.
	BasePort int
	// LeaseSeconds is the ManagedClusters' lease duration in seconds. The registration controller sets a cluster to
	// Unknown after five lease durations. Default: 2.
	LeaseSeconds int32
	// HealthCheckPeriod is the interval at which a registration agent checks its own API server. Default: 10s.
	HealthCheckPeriod time.Duration
	// AuditLog makes the hub's kube-apiserver write logs/hub-audit.log, with the user, the verb and the object of each
	// request.
	AuditLog bool
	// ExtraArgs are appended to a process's arguments. A key is "<process>" or "<hub|cluster>/<process>".
	ExtraArgs map[string][]string
	// ExtraEnv is added to a process's environment, with the same keys.
	ExtraEnv map[string][]string
	// ReadyTimeout is the time limit for each process or object. Default: 5 minutes.
	ReadyTimeout time.Duration
	// CacheDir is the folder of the built programs. Default: $TOWLINE_CACHE, else towline in the user's cache folder.
	CacheDir string
	// SourceDir is the folder of the programs' modules. Default: e2e/programs of the checkout.
	SourceDir string
	// OnHub runs when the hub is ready, while the clusters join. The Fleet of OnHub has no clusters. Programs of its Run
	// end with its Stop. Start returns after OnHub, and fails with the error of OnHub.
	OnHub func(context.Context, *Fleet) error
	// Progress receives a line for each step. By default, no lines are printed.
	Progress io.Writer
}

// ClusterNames returns the n names cluster1, cluster2, ….
func ClusterNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cluster%d", i+1)
	}
	return names
}

// ArgoCDOr returns the versions of Argo CD in the environment variable ArgoCDEnv, or else the given versions.
func ArgoCDOr(versions ...string) []string {
	if list := os.Getenv(ArgoCDEnv); list != "" {
		return strings.Split(list, ",")
	}
	return versions
}

// DefaultDir returns the default state directory.
func DefaultDir() (string, error) {
	if dir := os.Getenv(DirEnv); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := checkoutRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".fleet"), nil
}

func (o *Options) complete() error {
	if err := o.completeDirs(); err != nil {
		return err
	}
	if o.Clusters == nil {
		o.Clusters = ClusterNames(2)
	}
	if o.HubControlPlaneOnly {
		o.Clusters = nil
	}
	o.End = EndOr(o.End)
	if o.ArgoCD == nil {
		o.ArgoCD = ArgoCDOr(o.End.ArgoCD()...)
	}
	if o.Transport == "" {
		o.Transport = TransportHub
	}
	if o.LeaseSeconds == 0 {
		o.LeaseSeconds = 2
	}
	if o.HealthCheckPeriod == 0 {
		o.HealthCheckPeriod = 10 * time.Second
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = 5 * time.Minute // long enough for a busy machine
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o.validate()
}

func (o *Options) completeDirs() (err error) {
	if o.Dir == "" {
		o.Dir, err = DefaultDir()
	} else {
		o.Dir, err = filepath.Abs(o.Dir)
	}
	if err != nil {
		return fmt.Errorf("no state directory (give --dir): %w", err)
	}
	return nil
}

func (o *Options) validate() error {
	var errs []error
	seen := map[string]bool{hubName: true}
	for _, name := range o.Clusters {
		errs = append(errs, validateClusterName(name, seen))
		seen[name] = true
	}
	for name := range o.ClusterLabels {
		if !seen[name] || name == hubName {
			errs = append(errs, fmt.Errorf("labels are given for %q, which is not among the clusters %v", name, o.Clusters))
		}
	}
	errs = append(errs, o.End.validate(), validateArgoCD(o.ArgoCD), validateTransport(o.Transport))
	if o.BasePort != 0 && (o.BasePort < 1024 || o.BasePort > 65000) {
		errs = append(errs, fmt.Errorf("base port %d is out of range: choose one from 1024 to 65000", o.BasePort))
	}
	if o.LeaseSeconds < 0 {
		errs = append(errs, fmt.Errorf("lease duration %d s is negative: give 1 or more", o.LeaseSeconds))
	}
	return errors.Join(errs...)
}

func validateArgoCD(versions []string) error {
	if len(versions) == 0 {
		return fmt.Errorf("no version of Argo CD is given: name a version of %v or more", ArgoCDVersions())
	}
	for _, version := range versions {
		if !slices.Contains(ArgoCDVersions(), version) {
			return fmt.Errorf("version %q of Argo CD is not among those of a fleet: name some of %v", version, ArgoCDVersions())
		}
	}
	return nil
}

// validateTransport refuses an unknown transport.
func validateTransport(transport string) error {
	if transport != "" && !slices.Contains(Transports(), transport) {
		return fmt.Errorf("transport %q is not among those of a fleet: name one of %v", transport, Transports())
	}
	return nil
}

// argoCDOn returns the Argo CD of the hub, or of a managed cluster.
func (o *Options) argoCDOn(plane string) argoCD {
	i := max(slices.Index(o.Clusters, plane), 0)
	return argoCDOf(o.ArgoCD[i%len(o.ArgoCD)])
}

func validateClusterName(name string, seen map[string]bool) error {
	if seen[name] {
		return fmt.Errorf("cluster name %q is used twice or is the hub's: give each cluster its own name", name)
	}
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		return fmt.Errorf("cluster name %q cannot be a namespace: %s", name, msgs[0])
	}
	return nil
}
