package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-io/towline/e2e/bench"
)

func newCost() *cobra.Command {
	o := bench.CostOptions{Options: bench.Defaults()}
	var result, thresholds string
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "Measure a real work agent, beside plain works with five paths",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = cmd.ErrOrStderr()
			r, err := bench.Cost(cmd.Context(), o)
			if r == nil {
				return err
			}
			if err = errors.Join(err, show(cmd, r, result)); err != nil || thresholds == "" {
				return err
			}
			bounds, err := bench.ReadThresholds(thresholds)
			if err != nil {
				return err
			}
			return bench.Check(r, bounds)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "state directory of the fleet (default: $TOWLINE_FLEET_DIR, else .fleet in the checkout)")
	f.IntVar(&o.Number, "applications", 300, "number of Applications on the cluster")
	f.DurationVar(&o.Rest, "rest", time.Minute, "how long to do nothing")
	f.StringArrayVar(&o.Args, "towline-arg", nil, "one more argument for `towline controller`; may be repeated")
	f.StringArrayVar(&o.AgentArgs, "agent-arg", nil, "one more argument for the work agent; may be repeated")
	f.BoolVar(&o.WorkloadStays, "workload-stays", false, "deliver the Applications without Argo CD's finalizer: their workload stays after a deletion")
	f.StringVar(&o.Profiles, "profiles", "",
		"folder for CPU profiles of the work agent, of the hub's kube-apiserver and of Towline: delivery, changes, deletion")
	f.StringVar(&result, "json", "", "file for the result")
	f.StringVar(&thresholds, "thresholds", "", "file of thresholds that the result must hold to")
	return cmd
}
