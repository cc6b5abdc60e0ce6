package bench

import (
	"fmt"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Plot draws results into a folder: the delays of changes for each result, and the costs of a change and of an
// Application by the size of the fleet.
func Plot(dir string, results ...*Result) error {
	results = slices.SortedFunc(slices.Values(results), func(a, b *Result) int { return a.Applications - b.Applications })
	charts := map[string]chart{"cost.svg": cost(results), "memory.svg": memory(results)}
	for _, r := range results {
		charts[fmt.Sprintf("freshness-%dx%d.svg", r.Clusters, r.Sets)] = freshness(r)
	}
	for name, c := range charts {
		if err := c.save(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// chart is a line chart. lines has the name and the points of each line, in the form for plotutil.
type chart struct {
	title, x, y string

	// logX and logY choose a logarithmic axis.
	logX, logY bool

	// draw adds the lines to a plot.
	draw func(*plot.Plot, ...any) error

	lines []any
}

// add adds a line. A line without points is left out.
func (c *chart) add(name string, points plotter.XYs) {
	if points != nil {
		c.lines = append(c.lines, name, points)
	}
}

// save writes the chart to a file in the format of the file's ending. A linear axis begins at 0.
func (c *chart) save(file string) error {
	plot.DefaultFont.Variant = "Sans"
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.x, c.y
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	if err := c.draw(p, c.lines...); err != nil {
		return err
	}
	for axis, log := range map[*plot.Axis]bool{&p.X: c.logX, &p.Y: c.logY} {
		if log {
			axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 6}
		} else {
			axis.Min = 0
		}
	}
	p.Y.Max *= 1.25 // room for the legend
	return p.Save(10*vg.Inch, 6*vg.Inch, file)
}

// freshness draws the share of shown changes over time.
func freshness(r *Result) chart {
	c := chart{
		title: fmt.Sprintf("%d clusters × %d ApplicationSets: until a change on a cluster is seen on the hub", r.Clusters, r.Sets),
		x:     "milliseconds", y: "% of the changes", logX: true, draw: plotutil.AddLines,
	}
	for _, d := range []struct{ name, title string }{
		{"roundtrip", "a bare client's own write"},
		{"freshness.status", "Application, one change at a time"},
		{"freshness.report", "report, one change at a time"},
		{"storm.status", fmt.Sprintf("Application, %.0f changes per second", r.Figures["storm.rate"])},
		{"storm.report", fmt.Sprintf("report, %.0f changes per second", r.Figures["storm.rate"])},
	} {
		var points plotter.XYs
		for percent, ms := range r.Delays[d.name] {
			points = append(points, plotter.XY{X: max(ms, 0.001), Y: float64(percent)})
		}
		c.add(d.title, points)
	}
	return c
}

func cost(results []*Result) chart {
	c := chart{title: "What one change costs", x: "Applications", y: "ms of CPU", logX: true, logY: true, draw: plotutil.AddLinePoints}
	c.add("Towline", against(results, "change.cpu"))
	c.add("kube-apiserver and etcd", against(results, "change.hub_cpu"))
	return c
}

func memory(results []*Result) chart {
	c := chart{title: "Memory of Towline", x: "Applications", y: "MiB (RSS)", draw: plotutil.AddLinePoints}
	c.add("after a restart", against(results, "memory.restart"))
	c.add("at most during a restart", against(results, "memory.restart_peak"))
	c.add("idle", against(results, "memory.idle"))
	return c
}

// against returns a figure by the number of Applications.
func against(results []*Result, figure string) (points plotter.XYs) {
	for _, r := range results {
		if v, ok := r.Figures[figure]; ok {
			points = append(points, plotter.XY{X: float64(r.Applications), Y: v})
		}
	}
	return points
}
