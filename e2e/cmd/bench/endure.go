package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/bench"
	"github.com/towline-io/towline/e2e/fleet"
)

func newEndure() *cobra.Command {
	o := bench.Defaults()
	o.Clusters, o.Sets, o.Sample, o.AtOnce = 100, 10, 200, true
	cmd := &cobra.Command{
		Use:   "endure",
		Short: "Let Applications change for long, beside a replica that waits, and fail where a change is not shown or anything grows",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = cmd.OutOrStdout()
			_, err := bench.Run(cmd.Context(), o)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "state directory of the hub (default: $TOWLINE_FLEET_DIR, else .fleet in the checkout)")
	f.StringVar(&o.Transport, "transport", fleet.TransportHub, "where the works are, and the agents fetch them")
	f.IntVar(&o.Clusters, "clusters", o.Clusters, "number of ManagedClusters")
	f.IntVar(&o.Sets, "sets", o.Sets, "number of ApplicationSets, each with an Application on each cluster")
	f.DurationVar(&o.Endurance, "time", 30*time.Minute, "how long to go on")
	f.DurationVar(&o.EnduranceWarmUp, "warm-up", 13*time.Minute, "how long until growth counts: client-go keeps an event for up to 12 minutes")
	f.Float64Var(&o.EnduranceRate, "rate", 5, "how many Applications change a second")
	f.StringArrayVar(&o.Args, "towline-arg", nil, "one more argument for `towline controller`; may be repeated")
	return cmd
}
