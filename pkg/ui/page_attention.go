package ui

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// stopped are the blocked Applications of one namespace with the same reason.
type stopped struct {
	// Namespace and Reason are common to the Applications. Message is the message of the first Application.
	Namespace, Reason, Message string

	// Applications is the number of Applications, and First is the ID of the first Application.
	Applications int
	First        string
}

// deletion is an Application with a waiting deletion.
type deletion struct {
	Application string
	Since       time.Time
}

// attentionPage shows the problems that need a person.
func attentionPage(v *visit, p *painted) error {
	p.Title, p.Page, p.more = "Attention", "attention", true
	pieces, err := each(v, badOf)
	if err != nil && !errors.Is(err, errSame) { // even with unchanged places, the orphans may have changed
		return err
	}
	all := bad{deleting: map[string]time.Time{}}
	for i := range pieces {
		all.rows = append(all.rows, pieces[i].made.rows...)
		maps.Copy(all.deleting, pieces[i].made.deleting)
	}
	view.Sort(all.rows)
	orphans, err := v.Hub.Orphans(v.Request.Context())
	unread := apierrors.IsForbidden(err)
	if err != nil && !unread {
		return err
	}
	stale := slices.DeleteFunc(slices.Clone(all.rows), func(r view.Row) bool { return !isStale(&r) })
	more := max(0, len(stale)-maxRows)
	if err := p.add("blocked.html", "blocked", map[string]any{"Stopped": stoppedOf(all.rows), "Query": p.Query}); err != nil {
		return err
	}
	stale = stale[:len(stale)-more]
	p.Chunks = append(p.Chunks, later("stale.html", "stale", sumOf(sumOfRows(stale), more), func() any {
		return map[string]any{"Rows": stale, "More": more, "Query": p.Query}
	}))
	if err := p.add("deletions.html", "deletions", map[string]any{"Deletions": deletions(all.deleting), "Query": p.Query}); err != nil {
		return err
	}
	return p.add("orphans.html", "orphans", map[string]any{"Orphans": orphans, "Unread": unread, "Query": p.Query})
}

// bad has the rows with problems and the deletions of a cluster.
type bad struct {
	rows     []view.Row
	deleting map[string]time.Time
}

// badOf returns the problems and deletions of a cluster.
func badOf(_ string, c *Content) (bad, uint64) {
	b := bad{rows: view.Problems(c.Rows), deleting: c.Deleting}
	if len(b.rows)+len(b.deleting) == 0 {
		return bad{}, 0
	}
	return bad{rows: slices.Clip(b.rows), deleting: b.deleting}, sumOfRows(b.rows)
}

// isStale returns whether the shown state of an Application is known to be old.
func isStale(r *view.Row) bool {
	return r.Reason == apis.ConditionClusterUnreachableWarning || r.Reason == apis.ConditionNotCompared
}

// stoppedOf counts the blocked Applications by namespace and reason, the most frequent first.
func stoppedOf(rows []view.Row) []stopped {
	found := map[[2]string]*stopped{}
	for i := range rows {
		r := &rows[i]
		if r.State != why.Blocked {
			continue
		}
		key := [2]string{r.Namespace, r.Reason}
		if found[key] == nil {
			found[key] = &stopped{Namespace: r.Namespace, Reason: r.Reason, Message: r.Message, First: r.ID()}
		}
		found[key].Applications++
	}
	var out []stopped
	for _, s := range found {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b stopped) int {
		return cmp.Or(cmp.Compare(b.Applications, a.Applications), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// deletions returns the waiting deletions, the oldest first.
func deletions(deleting map[string]time.Time) []deletion {
	var out []deletion
	for _, app := range slices.Sorted(maps.Keys(deleting)) {
		out = append(out, deletion{app, deleting[app]})
	}
	slices.SortStableFunc(out, func(a, b deletion) int { return a.Since.Compare(b.Since) })
	return out
}
