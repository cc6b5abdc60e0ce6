package ui

import (
	"cmp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// maxRows is the maximum number of rows on a page; the most urgent rows are shown.
const maxRows = 1000

// key returns the namespace and name in the address of a request.
func (v *visit) key() types.NamespacedName {
	return types.NamespacedName{Namespace: v.Request.PathValue("namespace"), Name: v.Request.PathValue("name")}
}

// setPage is one ApplicationSet.
func setPage(v *visit, p *painted) error {
	key, f := v.key(), v.filters()
	p.Title, p.Page, p.more = key.String(), "sets", true
	rows, err := rowsWhere(v, func(r *view.Row) bool { return r.Namespace == key.Namespace && r.Set == key.Name })
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return notFound("You may read no Application of ApplicationSet %s.", key)
	}
	s := view.SetOfApplications(key.Namespace, key.Name, slices.Clone(rows))
	steps, err := v.Hub.Steps(v.Request.Context(), key)
	unread := apierrors.IsForbidden(err)
	if err != nil && !unread {
		return err
	}
	s.RollOut(steps)
	data := map[string]any{"Set": s, "Waves": s.Waves, "Unread": unread, "Query": p.Query}
	if err := p.add("set.html", "set", data); err != nil {
		return err
	}
	if err := p.add("revisions.html", "revisions", revisions(rows)); err != nil {
		return err
	}
	shown := s.Rows
	if f.Cluster != "" {
		shown = slices.DeleteFunc(rows, func(r view.Row) bool { return r.Cluster != f.Cluster })
	}
	return p.rows(shown, f.Problems)
}

// revision is a revision in use on some clusters of a set.
type revision struct {
	// Revision is the commit or version. State is the worst state of the Applications with this revision.
	Revision string
	State    why.State

	// Applications is the number of Applications with this revision. Clusters names the first clusters.
	Applications int
	Clusters     []string
}

// maxNamed is the maximum number of named clusters.
const maxNamed = 8

// revisions returns the revisions of a set, the most frequent first.
func revisions(rows []view.Row) []*revision {
	var out []*revision
	for i := range rows {
		r := &rows[i]
		n := slices.IndexFunc(out, func(x *revision) bool { return x.Revision == r.Revision })
		if n < 0 {
			n, out = len(out), append(out, &revision{Revision: r.Revision})
		}
		out[n].Applications++
		out[n].State = view.Worst(out[n].State, r.State)
		if len(out[n].Clusters) < maxNamed {
			out[n].Clusters = append(out[n].Clusters, r.Cluster)
		}
	}
	slices.SortStableFunc(out, func(a, b *revision) int { return cmp.Compare(b.Applications, a.Applications) })
	return out
}

// rows adds a table of Applications.
func (p *painted) rows(rows []view.Row, problems bool) error {
	if problems {
		rows = view.Problems(rows)
	}
	view.SortWorst(rows)
	left := max(0, len(rows)-maxRows)
	rows = rows[:len(rows)-left]
	if err := p.add("rows-head.html", "", left); err != nil {
		return err
	}
	for i := range rows {
		id := ident("a", rows[i].ID())
		p.Chunks = append(p.Chunks, later("row.html", id, sumOfRows(rows[i:i+1]), func() any {
			return map[string]any{"ID": id, "Row": &rows[i], "Query": p.Query}
		}))
	}
	p.Chunks = append(p.Chunks, plain("</tbody></table></div></section>"))
	return nil
}

// rowsWhere returns the relevant Applications of a page, in the order of view.Sort. rowsWhere returns errSame if the
// rows are unchanged.
func rowsWhere(v *visit, concern func(*view.Row) bool) ([]view.Row, error) {
	pieces, err := each(v, func(_ string, c *Content) ([]view.Row, uint64) {
		rows := slices.DeleteFunc(c.Rows, func(r view.Row) bool { return !concern(&r) })
		if len(rows) == 0 {
			return nil, 0
		}
		return slices.Clone(rows), sumOfRows(rows)
	})
	if err != nil {
		return nil, err
	}
	var out []view.Row
	for i := range pieces {
		out = append(out, pieces[i].made...)
	}
	view.Sort(out)
	return out, nil
}
