package bench

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
)

// Options are the sizes of a run.
type Options struct {
	// Dir is the state directory of the fleet. Default: the default of every fleet.
	Dir string

	// Transport is where the works are: fleet.TransportHub or fleet.TransportMaestro.
	Transport string

	// PgBouncer puts PgBouncer between Maestro and its database.
	PgBouncer bool

	// MaestroServers is the number of Maestro servers.
	MaestroServers int

	// Sample is the maximum number of measured writes of the bare client.
	Sample int

	// Clusters is the number of ManagedClusters, and Sets the number of ApplicationSets. Each set has an Application on
	// each cluster.
	Clusters, Sets int

	// Reporting is the number of reporting clusters. 0 means all. The remaining clusters have works, but do not report.
	Reporting int

	// BySet rolls out the ApplicationSets one after the other, as the ApplicationSet controller does when several sets
	// change. By default, the clusters are rolled out one after the other, as when clusters join.
	BySet bool

	// AtOnce lets agents report a work as soon as they see the work. By default, agents report after the delivery of
	// all works.
	AtOnce bool

	// Parallel is the number of parallel requests of the bare client and of the creation of Applications.
	Parallel int

	// Agents is the maximum number of parallel reports of work agents.
	Agents int

	// Changes is the number of changes that are made one at a time.
	Changes int

	// StormRate is the number of changing Applications per second in the storm. Default: the Applications of 1 % of the
	// reporting clusters.
	StormRate float64

	// Storm and Idle are the durations of these phases.
	Storm, Idle time.Duration

	// Comparison is the interval at which a cluster's Argo CD compares each of its Applications in the phase idle. 0
	// means never.
	Comparison time.Duration

	// Hostile is the number of works that report a status of the maximum size, at the end. 0 means none.
	Hostile int

	// Endurance is the duration of the changes in a run that checks for growth. EnduranceRate is the number of changes
	// in a second. Growth during EnduranceWarmUp does not count. With Endurance 0, the run is the usual run.
	Endurance, EnduranceWarmUp time.Duration
	EnduranceRate              float64

	// Hold keeps the hub and Towline running at the end, until the run is interrupted.
	Hold bool

	// Done is called with the result before the hub is held. It may be nil.
	Done func(*Result)

	// Profiles is a folder for CPU and heap profiles of every phase. Without a folder, no profiles are taken.
	Profiles string

	// Args are additional arguments of Towline.
	Args []string

	// Env are additional environment variables of processes, each as PROCESS:NAME=value.
	Env []string

	// Progress receives a line for each step.
	Progress io.Writer
}

// Defaults are the options of `make bench`.
func Defaults() Options {
	return Options{
		Transport: fleet.TransportHub, MaestroServers: 1, Sample: 5000, Clusters: 200, Sets: 5, Parallel: 16, Agents: 16, Changes: 200,
		Storm: 20 * time.Second, Idle: time.Minute, Comparison: time.Minute, Progress: io.Discard,
	}
}

// Processes that the fleet does not start, by their names in Env and in results.
const (
	processTowline = "towline"
	processMaestro = "towline-maestro"
)

// env returns the variables of Env for a process, and envs the variables of Env for all processes.
func (o *Options) env(process string) []string { return o.envs()[process] }

func (o *Options) envs() map[string][]string {
	out := map[string][]string{}
	for _, e := range o.Env {
		process, setting, _ := strings.Cut(e, ":")
		out[process] = append(out[process], setting)
	}
	return out
}

// Applications returns the number of Applications.
func (o *Options) Applications() int { return o.Clusters * o.Sets }

// reporting returns the number of reporting clusters.
func (o *Options) reporting() int {
	if o.Reporting > 0 {
		return min(o.Reporting, o.Clusters)
	}
	return o.Clusters
}

// patience returns the time limit of each phase.
func (o *Options) patience() time.Duration {
	return max(minPatience, time.Duration(o.Applications())*patienceEach)
}

// stormRate returns the number of changes per second in the storm.
func (o *Options) stormRate() float64 {
	if o.StormRate > 0 {
		return o.StormRate
	}
	return max(1, float64(o.reporting()*o.Sets)/100)
}

// Validate returns every mistake in the options.
func (o *Options) Validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{
		{"clusters", o.Clusters}, {"sets", o.Sets}, {"parallel", o.Parallel}, {"agents", o.Agents}, {"changes", o.Changes}, {"sample", o.Sample},
		{"maestro-servers", o.MaestroServers},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("--%s: %d is less than 1", n.name, n.value))
		}
	}
	if o.Applications() < 2 {
		errs = append(errs, errors.New("--clusters, --sets: two Applications are needed, one for each way of delivery"))
	}
	if o.StormRate < 0 || o.Reporting < 0 || o.Storm < 0 || o.Idle < 0 || o.Comparison < 0 {
		errs = append(errs, errors.New("--reporting, --storm-rate, --storm, --idle and --comparison cannot be negative"))
	}
	errs = append(errs, o.validateEndurance()...)
	for _, e := range o.Env {
		if process, setting, _ := strings.Cut(e, ":"); process == "" || !strings.Contains(setting, "=") {
			errs = append(errs, fmt.Errorf("--env: %q is not PROCESS:NAME=value, such as kube-apiserver:GOMEMLIMIT=2GiB", e))
		}
	}
	return errors.Join(errs...)
}

// validateEndurance returns the mistakes in the options of a run of Endurance.
func (o *Options) validateEndurance() (errs []error) {
	if o.Endurance == 0 {
		return nil
	}
	if least := o.EnduranceWarmUp + samplesLeast*sampling; o.Endurance < least {
		errs = append(errs, fmt.Errorf("--time: %s is too short: with a warm-up of %s it takes %s to tell growth from chance", o.Endurance,
			o.EnduranceWarmUp, least))
	}
	if most := float64(o.Applications()) / shownWithin.Seconds(); o.EnduranceRate <= 0 || o.EnduranceRate > most {
		errs = append(errs, fmt.Errorf("--rate: %g is not between 0 and %.2f: each of %d Applications has %s until it shows a change", o.EnduranceRate,
			most, o.Applications(), shownWithin))
	}
	return errs
}
