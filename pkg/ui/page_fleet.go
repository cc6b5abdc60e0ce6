package ui

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// filters are what a person asks a page to show.
type filters struct {
	Namespaces          []string
	Group, Set, Cluster string
	Problems            bool

	// Labels are the label keys that clusters can be grouped by.
	Labels []string
}

func (v *visit) filters() filters {
	q := v.Request.URL.Query()
	return filters{Namespaces: v.namespaces(), Group: q.Get("group"), Set: q.Get("set"), Cluster: q.Get("cluster"),
		Problems: q.Get("problems") != "", Labels: v.labelKeys()}
}

// maxLabels is how many label keys are offered.
const maxLabels = 100

// labelKeys are the label keys of clusters, without OCM's own of features, of which there are many.
func (v *visit) labelKeys() []string {
	keys := map[string]bool{}
	for i := range v.fleet.Clusters.Managed {
		for key := range v.fleet.Clusters.Managed[i].Labels {
			if !strings.HasPrefix(key, "feature.") {
				keys[key] = true
			}
		}
	}
	out := slices.Sorted(maps.Keys(keys))
	return out[:min(len(out), maxLabels)]
}

// fits tells whether a row is asked for. A filter is part of a name.
func (f *filters) fits(r *view.Row) bool {
	return strings.Contains(r.Set, f.Set) && strings.Contains(r.Cluster, f.Cluster)
}

// fleetPage is the matrix of sets and clusters.
func fleetPage(v *visit, p *painted) error {
	p.Title, p.Page = "Fleet", "fleet"
	f := v.filters()
	rows := v.rows(f.fits)
	m := view.MatrixOf(rows, view.MatrixOptions{Group: v.fleet.labels(f.Group), Problems: f.Problems})
	if err := p.add("counts.html", "counts", view.CountsOf(rows)); err != nil {
		return err
	}
	if err := p.add("filters.html", "", f); err != nil {
		return err
	}
	if len(m.Groups) == 0 {
		return p.add("nothing.html", "nothing", f.Problems)
	}
	if err := p.add("matrix-head.html", "", map[string]any{"Sets": m.Sets, "Query": p.Query, "Several": len(namespacesOf(m.Sets)) > 1}); err != nil {
		return err
	}
	for i := range m.Groups {
		if err := v.group(p, m, &m.Groups[i], f.Group != ""); err != nil {
			return err
		}
	}
	p.Chunks = append(p.Chunks, plain("</table></div></section>"))
	return nil
}

func namespacesOf(sets []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		namespace, _, _ := strings.Cut(s, "/")
		out[namespace] = true
	}
	return out
}

// group adds the lines of a group of clusters.
func (v *visit) group(p *painted, m *view.Matrix, g *view.Group, named bool) error {
	p.Chunks = append(p.Chunks, plain("<tbody>"))
	if named {
		id := ident("g", g.Name)
		data := map[string]any{"ID": id, "Name": cmp.Or(g.Name, "without the label"), "Clusters": len(g.Clusters), "Counts": g.Counts}
		if err := p.add("group.html", id, data); err != nil {
			return err
		}
	}
	for i := range g.Clusters {
		c, err := v.line(m, &g.Clusters[i], p.Query)
		if err != nil {
			return err
		}
		p.Chunks = append(p.Chunks, c)
	}
	p.Chunks = append(p.Chunks, plain("</tbody>"))
	return nil
}

// line is a cluster's line: only its sum for a stream whose browser has it already.
func (v *visit) line(m *view.Matrix, l *view.Line, query string) (chunk, error) {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range l.Cells {
		maphash.WriteComparable(&h, l.Cells[i])
	}
	id, sum := ident("c", l.Cluster), h.Sum64()
	if has, ok := v.has[id]; ok && has == sum {
		return chunk{ID: id, sum: sum}, nil
	}
	cells := make([]shownCell, len(l.Cells))
	for i := range l.Cells {
		cells[i] = shown(m.Sets[i], l.Cluster, &l.Cells[i], query)
	}
	c, err := render("line.html", id, map[string]any{"ID": id, "Cluster": l.Cluster, "Cells": cells, "Query": query})
	c.sum = sum
	return c, err
}

// shownCell is a cell of the matrix as it is shown.
type shownCell struct {
	// State is the class, Glyph what is seen, Label the whole in words, and Link where it leads.
	State, Glyph, Label, Link string
}

func shown(set, cluster string, c *view.Cell, query string) shownCell {
	state := c.State()
	if state == "" {
		return shownCell{}
	}
	out := shownCell{State: string(state), Glyph: glyphs[state], Link: path("sets", set) + "?cluster=" + escape(cluster)}
	out.Link += strings.Replace(query, "?", "&", 1)
	if c.Application != "" {
		out.Link = path("applications", c.Application) + query
	}
	if c.Applications > 1 {
		bad := c.Applications - c.OK
		if state == why.OK {
			bad = c.Applications
		}
		out.Glyph += strconv.Itoa(bad)
	}
	out.Label = feedback.Clean(set, feedback.MaxWord) + " on " + feedback.Clean(cluster, feedback.MaxWord) + ": " + words[state]
	if text := view.Because(c.Reason, c.Message); text != "" {
		out.Label += ", " + feedback.Clean(text, maxAttribute)
	}
	return out
}
