package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Plot draws results into a folder: the delays of changes for each result, and the costs of a change and of an
// Application by the size of the fleet.
func Plot(dir string, results ...*Result) error {
	results = slices.SortedFunc(slices.Values(results), func(a, b *Result) int { return a.Applications - b.Applications })
	charts := map[string]*chart{"cost.svg": cost(results), "memory.svg": memory(results)}
	for _, r := range results {
		charts[fmt.Sprintf("freshness-%dx%d.svg", r.Clusters, r.Sets)] = freshness(r)
	}
	for name, c := range charts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(c.svg()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// freshness draws the share of shown changes over time.
func freshness(r *Result) *chart {
	c := &chart{
		title: fmt.Sprintf("%d clusters × %d ApplicationSets: until a change on a cluster is seen on the hub", r.Clusters, r.Sets),
		x:     "milliseconds", y: "% of the changes", logX: true,
	}
	for _, d := range []struct{ name, title string }{
		{"roundtrip", "a bare client's own write"},
		{"freshness.status", "Application, one change at a time"},
		{"freshness.report", "report, one change at a time"},
		{"storm.status", fmt.Sprintf("Application, %.0f changes per second", r.Figures["storm.rate"])},
		{"storm.report", fmt.Sprintf("report, %.0f changes per second", r.Figures["storm.rate"])},
	} {
		l := line{name: d.title}
		for percent, ms := range r.Delays[d.name] {
			l.points = append(l.points, point{ms, float64(percent)})
		}
		if l.points != nil {
			c.lines = append(c.lines, l)
		}
	}
	return c
}

func cost(results []*Result) *chart {
	return &chart{
		title: "What one change costs", x: "Applications", y: "ms of CPU", logX: true, logY: true,
		lines: []line{
			against(results, "Towline", "change.cpu"),
			against(results, "kube-apiserver and etcd", "change.hub_cpu"),
		},
	}
}

func memory(results []*Result) *chart {
	return &chart{
		title: "Memory of Towline", x: "Applications", y: "MiB (RSS)",
		lines: []line{
			against(results, "after a restart", "memory.restart"),
			against(results, "at most during a restart", "memory.restart_peak"),
			against(results, "idle", "memory.idle"),
		},
	}
}

// against returns a figure by the number of Applications.
func against(results []*Result, name, figure string) line {
	l := line{name: name}
	for _, r := range results {
		if v, ok := r.Figures[figure]; ok {
			l.points = append(l.points, point{float64(r.Applications), v})
		}
	}
	return l
}
