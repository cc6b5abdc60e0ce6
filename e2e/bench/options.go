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
	// Dir is the state directory of the fleet. Default: that of every fleet.
	Dir string

	// Transport is where the works are: fleet.TransportHub or fleet.TransportMaestro.
	Transport string

	// PgBouncer puts PgBouncer between Maestro and its database.
	PgBouncer bool

	// MaestroServers is how many servers Maestro has.
	MaestroServers int

	// Sample is how many writes of the bare client are measured at most.
	Sample int

	// Clusters is the number of ManagedClusters, and Sets that of ApplicationSets; each set has an Application on
	// each cluster.
	Clusters, Sets int

	// Reporting is how many of the clusters report; 0 for all. The others have their works, and are silent.
	Reporting int

	// BySet rolls out one ApplicationSet after the other, as the controller of ApplicationSets does when several of them change. Default:
	// one cluster after the other, as when clusters join.
	BySet bool

	// AtOnce lets agents report a work as soon as they see it. Default: once all works are delivered.
	AtOnce bool

	// Parallel is how many requests the bare client has on their way at a time, and whoever makes Applications.
	Parallel int

	// Agents is how many reports of work agents are on their way at a time, at most.
	Agents int

	// Changes is how many changes are made one at a time.
	Changes int

	// StormRate is how many Applications change per second in the storm. Default: all those of 1 % of the clusters.
	StormRate float64

	// Storm and Idle are how long these phases take.
	Storm, Idle time.Duration

	// Comparison is how often a cluster's Argo CD compares each of its Applications while nothing happens; 0 for never.
	Comparison time.Duration

	// Hostile is how many works report a status that is as large as can be, at the end; 0 for none.
	Hostile int

	// Endurance is how long Applications change in a run that is to show that nothing grows, EnduranceRate how many do so in a second, and
	// EnduranceWarmUp until when what grows does not count. 0: the usual run.
	Endurance, EnduranceWarmUp time.Duration
	EnduranceRate              float64

	// Hold leaves the hub as it is at the end, with Towline running, until the run is interrupted.
	Hold bool

	// Done is given the result before the hub is held; nil for nothing.
	Done func(*Result)

	// Profiles is a folder for CPU and heap profiles of every phase; empty for none.
	Profiles string

	// Args are more arguments of Towline.
	Args []string

	// Env are more of the environments of processes: each PROCESS:NAME=value.
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

// env is what Env has for a process, and envs what it has for each process.
func (o *Options) env(process string) []string { return o.envs()[process] }

func (o *Options) envs() map[string][]string {
	out := map[string][]string{}
	for _, e := range o.Env {
		process, setting, _ := strings.Cut(e, ":")
		out[process] = append(out[process], setting)
	}
	return out
}

// Applications is how many there are.
func (o *Options) Applications() int { return o.Clusters * o.Sets }

// reporting is how many clusters report.
func (o *Options) reporting() int {
	if o.Reporting > 0 {
		return min(o.Reporting, o.Clusters)
	}
	return o.Clusters
}

// patience bounds each phase: what takes longer has failed.
func (o *Options) patience() time.Duration {
	return max(minPatience, time.Duration(o.Applications())*patienceEach)
}

// stormRate is the number of changes per second in the storm.
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

// validateEndurance returns the mistakes in what a run of Endurance takes.
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
