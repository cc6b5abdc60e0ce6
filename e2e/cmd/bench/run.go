package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/bench"
	"github.com/towline-io/towline/e2e/fleet"
)

func newRun() *cobra.Command {
	o := bench.Defaults()
	var result, thresholds string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Make a hub, measure everything once, and print the result",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = cmd.ErrOrStderr()
			if o.Profiles != "" {
				if err := os.MkdirAll(o.Profiles, 0o755); err != nil {
					return err
				}
			}
			return measure(cmd, o, result, thresholds)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "state directory of the hub (default: $TOWLINE_FLEET_DIR, else .fleet in the checkout)")
	f.StringVar(&o.Transport, "transport", o.Transport, "where the works are, and the agents fetch them: "+strings.Join(fleet.Transports(), " or "))
	f.BoolVar(&o.PgBouncer, "pgbouncer", false, "put PgBouncer between Maestro and its database")
	f.IntVar(&o.MaestroServers, "maestro-servers", o.MaestroServers, "number of Maestro's servers: each delivers 50 works a second at most")
	f.IntVar(&o.Sample, "sample", o.Sample, "writes of the bare client that are measured, at most")
	f.IntVar(&o.Clusters, "clusters", o.Clusters, "number of ManagedClusters")
	f.IntVar(&o.Sets, "sets", o.Sets, "number of ApplicationSets, each with an Application on each cluster")
	f.IntVar(&o.Reporting, "reporting", 0, "number of clusters that report, while the others have their works and are silent; 0: all")
	f.BoolVar(&o.BySet, "by-set", false, "roll out one ApplicationSet after the other (default: one cluster after the other)")
	f.BoolVar(&o.AtOnce, "report-at-once", false, "agents report a work as soon as they see it (default: once all works are delivered)")
	f.IntVar(&o.Parallel, "parallel", o.Parallel, "requests of the bare client, and creates of Applications, at a time")
	f.IntVar(&o.Agents, "agents", o.Agents, "requests of the work agents at a time, at most")
	f.IntVar(&o.Changes, "changes", o.Changes, "changes to make one at a time")
	f.Float64Var(&o.StormRate, "storm-rate", o.StormRate, "changes per second in the storm (default: all Applications of 1 % of the clusters)")
	f.DurationVar(&o.Storm, "storm", o.Storm, "length of the storm; 0: none")
	f.IntVar(&o.Hostile, "hostile", o.Hostile, "how many works report a status of 1.3 MB at the end; 0: none")
	f.DurationVar(&o.Idle, "idle", o.Idle, "how long to do nothing; 0: not at all")
	f.DurationVar(&o.Comparison, "comparison", o.Comparison, "how often clusters compare each Application meanwhile, without finding anything; 0: never")
	f.BoolVar(&o.Hold, "hold", false, "leave the hub as it is at the end, with Towline running, until an interrupt")
	f.StringVar(&o.Profiles, "profiles", "", "folder for a CPU and a heap profile of every phase")
	f.StringArrayVar(&o.Args, "towline-arg", nil, "one more argument for `towline controller`; may be repeated")
	f.StringArrayVar(&o.Env, "env", nil,
		"one more entry of a process's environment, as PROCESS:NAME=value, such as kube-apiserver:GOMEMLIMIT=2GiB; may be repeated")
	f.StringVar(&result, "json", "", "file for the result")
	f.StringVar(&thresholds, "thresholds", "", "file of thresholds that the result must hold to")
	return cmd
}

// show prints a result, and writes the result to a file if a file is named.
func show(cmd *cobra.Command, r *bench.Result, file string) error {
	bench.Costs(cmd.ErrOrStderr(), r)
	err := bench.Table(cmd.OutOrStdout(), r)
	if file != "" {
		err = errors.Join(err, r.Write(file))
	}
	return err
}

// measure runs the benchmark, and prints the results, also after the failure of a later phase.
func measure(cmd *cobra.Command, o bench.Options, result, thresholds string) error {
	var bounds []bench.Threshold
	var err error
	if thresholds != "" {
		if o.AtOnce {
			return errors.New("--thresholds, --report-at-once: thresholds are for agents that report once all works are delivered")
		}
		if bounds, err = bench.ReadThresholds(thresholds); err != nil {
			return err
		}
	}
	if o.Hold { // possibly for hours
		o.Done = func(r *bench.Result) {
			if err := show(cmd, r, result); err != nil {
				cmd.PrintErrln(err)
			}
		}
	}
	r, err := bench.Run(cmd.Context(), o)
	if r == nil {
		return err
	}
	if err != nil || !o.Hold {
		err = errors.Join(err, show(cmd, r, result))
	}
	if err != nil || bounds == nil {
		return err
	}
	if err := bench.Check(r, bounds); err != nil {
		return fmt.Errorf("%s does not hold:\n%w", thresholds, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\nall %d thresholds of %s hold\n", len(bounds), thresholds)
	return nil
}
