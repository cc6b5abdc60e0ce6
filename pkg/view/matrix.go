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
	Clusters []*Line `json:"clusters"`

	// Counts count the Applications of the group in each column.
	Counts []Counts `json:"counts"`
}

// Line is one cluster.
type Line struct {
	// Cluster names it, and Group is the value of the label that groups clusters.
	Cluster string `json:"cluster"`
	Group   string `json:"-"`

	// Cells are how sets stand on it, in the order of Sets: those of its own Applications, and in a Matrix all that the Matrix has.
	Cells []Cell   `json:"cells"`
	Sets  []string `json:"-"`
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
	clusters := map[string][]Row{}
	for i := range rows {
		clusters[rows[i].Cluster] = append(clusters[rows[i].Cluster], rows[i])
	}
	var lines []*Line
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		l := LineOf(cluster, clusters[cluster])
		l.Group = o.Group[cluster]
		lines = append(lines, l)
	}
	return MatrixOfLines(lines, o.Problems)
}

// LineOf is the line of a cluster, by the rows of its Applications.
func LineOf(cluster string, rows []Row) *Line {
	l := &Line{Cluster: cluster}
	for i := range rows {
		r := &rows[i]
		if r.Set == "" || cluster == "" {
			continue
		}
		n, found := slices.BinarySearch(l.Sets, column(r))
		if !found {
			l.Sets, l.Cells = slices.Insert(l.Sets, n, column(r)), slices.Insert(l.Cells, n, Cell{})
		}
		l.Cells[n].add(r)
	}
	return l
}

// MatrixOfLines is the matrix of lines, which are in the order of their clusters. One without a cell is not in it. The lines stay as they
// are: a matrix can be made again of those that have not changed.
func MatrixOfLines(lines []*Line, problems bool) *Matrix {
	m := &Matrix{Sets: setsOf(lines), Groups: []Group{}}
	groups := map[string]*Group{}
	for _, l := range lines {
		if len(l.Cells) == 0 || problems && !slices.ContainsFunc(l.Cells, func(c Cell) bool { return c.State() != why.OK }) {
			continue
		}
		g := groups[l.Group]
		if g == nil {
			g = &Group{Name: l.Group, Counts: make([]Counts, len(m.Sets))}
			groups[l.Group] = g
		}
		g.add(l.under(m.Sets))
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		m.Groups = append(m.Groups, *groups[name])
	}
	slices.SortStableFunc(m.Groups, func(a, b Group) int { return cmp.Compare(last(a.Name), last(b.Name)) })
	return m
}

// setsOf are the sets of lines, in their order. Most lines have the same.
func setsOf(lines []*Line) []string {
	out, before := map[string]bool{}, []string(nil)
	for _, l := range lines {
		if slices.Equal(l.Sets, before) {
			continue
		}
		before = l.Sets
		for _, set := range l.Sets {
			out[set] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(out))...)
}

// under is the line with a cell for each of these sets, which hold its own.
func (l *Line) under(sets []string) *Line {
	if len(l.Sets) == len(sets) {
		return l
	}
	out := &Line{Cluster: l.Cluster, Group: l.Group, Sets: sets, Cells: make([]Cell, len(sets))}
	for i, set := range l.Sets {
		n, _ := slices.BinarySearch(sets, set)
		out.Cells[n] = l.Cells[i]
	}
	return out
}

// add adds a line to a group.
func (g *Group) add(l *Line) {
	g.Clusters = append(g.Clusters, l)
	for i := range l.Cells {
		g.Counts[i].Merge(l.Cells[i].Counts)
	}
}

func column(r *Row) string { return r.Namespace + "/" + r.Set }

// add puts an Application into a cell.
func (c *Cell) add(r *Row) {
	if r.State != why.OK && Worst(c.State(), r.State) != c.State() {
		c.Application, c.Reason, c.Message = r.ID(), r.Reason, r.Message
	}
	c.Add(r)
}

// last is 1 for the group without a name, which comes last.
func last(name string) int {
	if name == "" {
		return 1
	}
	return 0
}

// Merge adds what others counted.
func (c *Counts) Merge(d Counts) {
	c.Applications += d.Applications
	c.OK += d.OK
	c.Waiting += d.Waiting
	c.Blocked += d.Blocked
}
