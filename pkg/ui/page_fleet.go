package ui

import (
	"cmp"
	"hash/maphash"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// filters are the user's choices for a page.
type filters struct {
	Namespaces          []string
	Group, Set, Cluster string
	Problems            bool

	// Labels are the label keys for grouping clusters.
	Labels []string

	// before is the previous line.
	before *view.Line
}

func (v *visit) filters() *filters {
	q := v.Request.URL.Query()
	return &filters{Namespaces: v.namespaces(), Group: q.Get("group"), Set: q.Get("set"), Cluster: q.Get("cluster"),
		Problems: q.Get("problems") != "", Labels: v.labelKeys()}
}

// maxLabels is the maximum number of offered label keys.
const maxLabels = 100

// labelKeys returns the label keys of clusters, without OCM's many feature labels.
func (v *visit) labelKeys() []string {
	out := slices.DeleteFunc(slices.Clone(v.fleet.Labels), func(key string) bool { return strings.HasPrefix(key, "feature.") })
	return out[:min(len(out), maxLabels)]
}

// fits returns whether a row passes the filters. A filter is a part of a name.
func (f *filters) fits(r *view.Row) bool {
	return strings.Contains(r.Set, f.Set) && strings.Contains(r.Cluster, f.Cluster)
}

// those returns the rows that pass the filters.
func (f *filters) those(rows []view.Row) []view.Row {
	return slices.DeleteFunc(rows, func(r view.Row) bool { return !f.fits(&r) })
}

// strip is the matrix content of a cluster.
type strip struct {
	id     string
	line   *view.Line
	counts view.Counts
}

// strip returns the strip of a cluster.
func (f *filters) strip(cluster string, c *Content) (strip, uint64) {
	rows := f.those(c.Rows)
	s := strip{id: ident("c", cluster), line: view.LineOf(cluster, rows), counts: view.CountsOf(rows)}
	if c.Managed != nil && f.Group != "" {
		s.line.Group = c.Managed.Labels[f.Group]
	}
	f.alike(s.line)
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, s.counts)
	maphash.WriteComparable(&h, s.line.Group)
	for i := range s.line.Cells {
		maphash.WriteComparable(&h, s.line.Sets[i])
		maphash.WriteComparable(&h, s.line.Cells[i])
	}
	return s, h.Sum64()
}

// alike lets a line share equal content with the previous line. Most clusters are alike, and an open page keeps all
// lines in memory.
func (f *filters) alike(l *view.Line) {
	if f.before != nil && slices.Equal(f.before.Sets, l.Sets) {
		l.Sets = f.before.Sets
		if slices.Equal(f.before.Cells, l.Cells) {
			l.Cells = f.before.Cells
		}
	}
	f.before = l
}

// fleetPage is the matrix of sets and clusters.
func fleetPage(v *visit, p *painted) error {
	p.Title, p.Page = "Fleet", "fleet"
	f := v.filters()
	strips, err := each(v, f.strip)
	if err != nil {
		return err
	}
	lines, counts := make([]*view.Line, len(strips)), view.Counts{}
	for i := range strips {
		lines[i] = strips[i].made.line
		counts.Merge(strips[i].made.counts)
	}
	if err := p.add("counts.html", "counts", counts); err != nil {
		return err
	}
	if err := p.add("filters.html", "", f); err != nil {
		return err
	}
	m := view.MatrixOfLines(lines, f.Problems)
	if len(m.Groups) == 0 {
		return p.add("nothing.html", "nothing", f.Problems)
	}
	if err := p.add("matrix-head.html", "", map[string]any{"Sets": m.Sets, "Query": p.Query}); err != nil {
		return err
	}
	for i := range m.Groups {
		if err := p.group(m.Sets, &m.Groups[i], strips, f.Group != ""); err != nil {
			return err
		}
	}
	p.Chunks = append(p.Chunks, plain("</table></div></section>"))
	return nil
}

// group adds the lines of a group of clusters.
func (p *painted) group(sets []string, g *view.Group, strips []piece[strip], named bool) error {
	p.Chunks = append(p.Chunks, plain("<tbody>"))
	if named {
		id := ident("g", g.Name)
		data := map[string]any{"ID": id, "Name": cmp.Or(g.Name, "without the label"), "Clusters": len(g.Clusters), "Counts": g.Counts}
		if err := p.add("group.html", id, data); err != nil {
			return err
		}
	}
	for _, l := range g.Clusters {
		n, _ := slices.BinarySearchFunc(strips, l.Cluster, func(s piece[strip], cluster string) int { return cmp.Compare(s.made.line.Cluster, cluster) })
		id := strips[n].made.id
		p.Chunks = append(p.Chunks, chunk{ID: id, sum: strips[n].sum, html: func() (string, error) { return line(id, sets, l, p.Query), nil }})
	}
	p.Chunks = append(p.Chunks, plain("</tbody>"))
	return nil
}

// lineBytes is the approximate size of a cell of a line.
const lineBytes = 256

// line returns the HTML of a cluster's line. The code writes the HTML directly, because a template takes ten times as
// long: a page has 2,000 lines with 10,000 cells. Each text in the line is escaped.
func line(id string, sets []string, l *view.Line, query string) string {
	var out strings.Builder
	out.Grow(lineBytes * (1 + len(sets)))
	for _, s := range []string{
		`<tr id="`, template.HTMLEscapeString(id), `"><th scope="row"><a href="`, template.HTMLEscapeString(path("clusters", l.Cluster) + query),
		`"><bdi>`, template.HTMLEscapeString(feedback.Clean(l.Cluster, feedback.MaxMessage)), `</bdi></a></th>`,
	} {
		out.WriteString(s)
	}
	for i, set := range sets {
		shown(set, l.Cluster, &l.Cells[i], query).write(&out)
	}
	out.WriteString("</tr>\n")
	return out.String()
}

// write writes the cell as HTML. Each text in the cell is escaped.
func (c shownCell) write(out *strings.Builder) {
	if c.State == "" {
		out.WriteString(`<td class="none">·</td>`)
		return
	}
	label := template.HTMLEscapeString(c.Label)
	for _, s := range []string{
		`<td class="`, template.HTMLEscapeString(c.State), `"><a href="`, template.HTMLEscapeString(c.Link), `" title="`, label,
		`" aria-label="`, label, `">`, template.HTMLEscapeString(c.Glyph), `</a></td>`,
	} {
		out.WriteString(s)
	}
}

// shownCell is the displayed form of a matrix cell.
type shownCell struct {
	// State is the CSS class, Glyph the visible sign, Label the full text, and Link the target.
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
	if text := view.WithReason(c.Reason, c.Message); text != "" {
		out.Label += ", " + feedback.Clean(text, maxAttribute)
	}
	return out
}
