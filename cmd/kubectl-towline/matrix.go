package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// matrixOptions are the options of `kubectl towline matrix`.
type matrixOptions struct {
	scope

	groupBy string
}

func newMatrixCommand(o *options) *cobra.Command {
	m := &matrixOptions{scope: scope{options: o}}
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Show the state of each ApplicationSet on each cluster",
		Long: "Show the state of each ApplicationSet on each cluster. A line is a cluster, a column is an ApplicationSet.\n\n" +
			"A cell of several Applications shows the number of Applications without a problem. The command reads the reports of the " +
			"ApplicationSets, and reads Applications only if a report is not complete.",
		Example: "  kubectl towline matrix -A --problems\n\n" +
			"  # By region\n" +
			"  kubectl towline matrix -A --group-by region",
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	m.addFlags(cmd)
	cmd.Flags().StringVar(&m.groupBy, "group-by", "", "group the clusters by the value of this label of the ManagedClusters")
	return cmd
}

func (m *matrixOptions) run(ctx context.Context) error {
	h, namespace, err := m.begin()
	if err != nil {
		return err
	}
	list, err := rowsOfSets(ctx, h, namespace)
	if err != nil {
		return err
	}
	options := view.MatrixOptions{Problems: m.problems}
	if m.groupBy != "" {
		if options.Group, err = clusterLabels(ctx, h, m.groupBy); err != nil {
			return err
		}
	}
	v := view.MatrixOf(list, options)
	if done, err := m.printed(v, ""); done || err != nil {
		return err
	}
	p := &printer{to: m.Out}
	m.print(p, v)
	if p.err != nil {
		return p.err
	}
	return m.printUnread(h)
}

// clusterLabels returns the values of a ManagedCluster label by cluster name; empty if the user may not read
// ManagedClusters.
func clusterLabels(ctx context.Context, h *hub, label string) (map[string]string, error) {
	out := map[string]string{}
	take := func(c *metav1.PartialObjectMetadata) { out[c.Name] = c.Labels[label] }
	if err := eachMetadata(ctx, h, clusterKind, take); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return out, nil
}

// print prints the groups from top to bottom. The columns have numbers with a legend, because names are too long.
func (m *matrixOptions) print(p *printer, v *view.Matrix) {
	columns := []string{"CLUSTER"}
	for i, set := range v.Sets {
		columns = append(columns, fmt.Sprint(i+1))
		p.line("%3d %s", i+1, plain(set))
	}
	if len(v.Sets) > 0 {
		p.line("")
	}
	t := m.newTable(columns...)
	shown := 0
	for i := range v.Groups {
		g := &v.Groups[i]
		if m.groupBy != "" {
			counts := make([]string, len(g.Counts))
			for i := range g.Counts {
				counts[i] = share(&g.Counts[i])
			}
			t.add(stateOf(g.Counts), append([]string{fmt.Sprintf("%s=%s", m.groupBy, g.Name)}, counts...)...)
		}
		for j := range g.Clusters {
			state, cells := m.line(g.Clusters[j])
			t.add(state, cells...)
			shown++
		}
	}
	t.write(p, 0)
	if shown == 0 && m.problems {
		p.line("%s all is well", m.glyph(why.OK))
	}
}

// line returns the cells of a cluster: the state of each ApplicationSet.
func (m *matrixOptions) line(l *view.Line) (why.State, []string) {
	cells, counts := []string{l.Cluster}, make([]view.Counts, len(l.Cells))
	for i := range l.Cells {
		c := &l.Cells[i]
		counts[i] = c.Counts
		text := glyphs[c.State()]
		if c.Applications != 1 {
			text = share(&c.Counts)
		}
		if m.output == "wide" && c.Reason != "" {
			text += " " + c.Reason
		}
		cells = append(cells, text)
	}
	return stateOf(counts), cells
}

// share returns the numbers of healthy and of all Applications; empty for none.
func share(c *view.Counts) string {
	if c.Applications == 0 {
		return " "
	}
	return fmt.Sprintf("%s %d/%d", glyphs[c.State()], c.OK, c.Applications)
}

func stateOf(counts []view.Counts) why.State {
	var out why.State
	for i := range counts {
		out = view.Worst(out, counts[i].State())
	}
	return out
}
