package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/why"
)

// Matrix shows how each ApplicationSet stands on each cluster. A line is a cluster, a column an ApplicationSet: there are many of
// the one and few of the other.
type Matrix struct {
	// Sets are the columns: "<namespace>/<name>" of an ApplicationSet, in their order.
	Sets []string `json:"sets"`

	// Groups are the clusters, by the value of a label; one without a name where nothing groups them.
	Groups []Group `json:"groups"`
}

// Group are clusters with the same value of a label.
type Group struct {
	// Name is that value; empty for clusters without the label, and where nothing groups them.
	Name string `json:"name"`

	// Clusters are the lines, in the order of their names.
	Clusters []Line `json:"clusters"`

	// Counts count the Applications of the group in each column.
	Counts []Counts `json:"counts"`
}

// Line is one cluster.
type Line struct {
	// Cluster names it.
	Cluster string `json:"cluster"`

	// Cells are how the sets stand on it, in the order of Matrix.Sets.
	Cells []Cell `json:"cells"`
}

// Cell is an ApplicationSet on a cluster. The zero value is one that has nothing there.
type Cell struct {
	Counts `json:",inline"`

	// Application is "<namespace>/<name>" of the Application there that needs the most attention; Reason and Message say why. They
	// are empty where nothing is wrong.
	Application string `json:"application,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
}

// MatrixOptions say what a matrix shows.
type MatrixOptions struct {
	// Group is the value of the label that groups clusters, by cluster; nil for one group.
	Group map[string]string

	// Problems leaves out clusters on which all is well.
	Problems bool
}

// MatrixOf is the matrix of rows. Applications that are of no ApplicationSet, or name no cluster, are not in it.
func MatrixOf(rows []Row, o MatrixOptions) *Matrix {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Set == "" || r.Cluster == "" })
	columns := map[string]int{}
	for i := range rows {
		columns[column(&rows[i])] = 0
	}
	m := &Matrix{Sets: append([]string{}, slices.Sorted(maps.Keys(columns))...), Groups: []Group{}}
	for i, set := range m.Sets {
		columns[set] = i
	}
	lines := map[string]*Line{}
	for i := range rows {
		r := &rows[i]
		if lines[r.Cluster] == nil {
			lines[r.Cluster] = &Line{Cluster: r.Cluster, Cells: make([]Cell, len(m.Sets))}
		}
		lines[r.Cluster].Cells[columns[column(r)]].add(r)
	}
	m.group(lines, o)
	return m
}

func column(r *Row) string { return r.Namespace + "/" + r.Set }

// add puts an Application into a cell.
func (c *Cell) add(r *Row) {
	if r.State != why.OK && Worst(c.State(), r.State) != c.State() {
		c.Application, c.Reason, c.Message = r.ID(), r.Reason, r.Message
	}
	c.Add(r)
}

// group puts lines into groups.
func (m *Matrix) group(lines map[string]*Line, o MatrixOptions) {
	groups := map[string]*Group{}
	for _, cluster := range slices.Sorted(maps.Keys(lines)) {
		line, name := lines[cluster], o.Group[cluster]
		if o.Problems && !slices.ContainsFunc(line.Cells, func(c Cell) bool { return c.State() != why.OK && c.State() != "" }) {
			continue
		}
		g := groups[name]
		if g == nil {
			g = &Group{Name: name, Counts: make([]Counts, len(m.Sets))}
			groups[name] = g
		}
		g.Clusters = append(g.Clusters, *line)
		for i := range line.Cells {
			g.Counts[i].merge(line.Cells[i].Counts)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		m.Groups = append(m.Groups, *groups[name])
	}
	slices.SortStableFunc(m.Groups, func(a, b Group) int { return cmp.Compare(last(a.Name), last(b.Name)) })
}

// last is 1 for the group without a name, which comes last.
func last(name string) int {
	if name == "" {
		return 1
	}
	return 0
}

func (c *Counts) merge(d Counts) {
	c.Applications += d.Applications
	c.OK += d.OK
	c.Waiting += d.Waiting
	c.Blocked += d.Blocked
}
