package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/view"
)

func newStatsCommand(o *options) *cobra.Command {
	s := &scope{options: o}
	cmd := &cobra.Command{
		Use:               "stats",
		Short:             "Count Applications by state, reason and namespace",
		Example:           "  kubectl towline stats -A",
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return s.stats(cmd.Context()) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "count the Applications of all namespaces")
	return cmd
}

func (s *scope) stats(ctx context.Context) error {
	h, namespace, err := s.begin()
	if err != nil {
		return err
	}
	list, err := rows(ctx, h, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	v := view.StatsOf(list)
	return s.show(h, v, nil, func() *table { return s.statsTable(v) })
}

// statsTable returns a table of counts.
func (s *scope) statsTable(v *view.Stats) *table {
	t := s.newTable("", "APPLICATIONS", "OK", "WAITING", "BLOCKED")
	all := func(name string, c *view.Counts) {
		t.add(c.State(), name, fmt.Sprint(c.Applications), fmt.Sprint(c.OK), fmt.Sprint(c.Waiting), fmt.Sprint(c.Blocked))
	}
	all(fmt.Sprintf("all, of %d ApplicationSets on %d clusters", v.Sets, v.Clusters), &v.Counts)
	for i := range v.ByNamespace {
		all("namespace "+v.ByNamespace[i].Namespace, &v.ByNamespace[i].Counts)
	}
	for _, part := range []struct {
		name   string
		counts []view.Count
	}{{"reason ", v.ByReason}, {"health ", v.ByHealth}, {"sync ", v.BySync}} {
		for _, c := range part.counts {
			t.add(c.State, part.name+c.Name, fmt.Sprint(c.Applications))
		}
	}
	return t
}
