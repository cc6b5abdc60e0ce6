package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/why"
)

// Matrix shows the state of each ApplicationSet on each cluster. A line is a cluster, a column an ApplicationSet,
// because a fleet has many clusters and few sets.
type Matrix struct {
	// Sets are the columns: "<namespace>/<name>" of an ApplicationSet, sorted.
	Sets []string `json:"sets"`

	// Groups are the clusters, by the value of a label; a single group without a name if no label is set.
	Groups []Group `json:"groups"`
}

// Group has clusters with the same value of a label.
type Group struct {
	// Name is the label's value; empty for clusters without the label, or if no label is set.
	Name string `json:"name"`

	// Clusters are the lines, sorted by name.
	Clusters []*Line `json:"clusters"`

	// Counts count the Applications of the group in each column.
	Counts []Counts `json:"counts"`
}

// Line is one cluster.
type Line struct {
	// Cluster is the name of the cluster, and Group is the value of its grouping label.
	Cluster string `json:"cluster"`
	Group   string `json:"-"`

	// Cells are the states of sets on the cluster, in the order of Sets. Sets has the sets of the cluster's own
	// Applications; in a Matrix, all sets of the Matrix.
	Cells []Cell   `json:"cells"`
	Sets  []string `json:"-"`
}

// Cell is an ApplicationSet on a cluster. The zero value has no Application.
type Cell struct {
	Counts `json:",inline"`

	// Application is "<namespace>/<name>" of the most urgent Application in the cell. Reason and Message are its
	// problem. All three are empty without a problem.
	Application string `json:"application,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
}

// MatrixOptions select the content of a matrix.
type MatrixOptions struct {
	// Group is the value of the grouping label, by cluster; nil for one group.
	Group map[string]string

	// Problems omits clusters without problems.
	Problems bool
}

// MatrixOf returns the matrix of rows. Applications without an ApplicationSet or without a cluster are omitted.
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

// LineOf returns the line of a cluster, from the rows of its Applications.
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

// MatrixOfLines returns the matrix of lines. The lines must be sorted by cluster. Lines without cells are omitted.
// MatrixOfLines does not change the lines, so the caller can use unchanged lines again.
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

// setsOf returns the sets of lines, sorted. Most lines have the same sets.
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

// under returns the line with a cell for each of the given sets. The given sets must include the line's own sets.
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

// add counts an Application in a cell.
func (c *Cell) add(r *Row) {
	if r.State != why.OK && Worst(c.State(), r.State) != c.State() {
		c.Application, c.Reason, c.Message = r.ID(), r.Reason, r.Message
	}
	c.Add(r)
}

// last is 1 for the group without a name, to sort this group last.
func last(name string) int {
	if name == "" {
		return 1
	}
	return 0
}

// Merge adds the counts of d.
func (c *Counts) Merge(d Counts) {
	c.Applications += d.Applications
	c.OK += d.OK
	c.Waiting += d.Waiting
	c.Blocked += d.Blocked
}
