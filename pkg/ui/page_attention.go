package ui

import (
	"cmp"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// stopped are Applications of one namespace that are stopped for one reason.
type stopped struct {
	// Namespace is theirs, Reason what stops them, and Message that of the first.
	Namespace, Reason, Message string

	// Applications is how many there are, and First names one.
	Applications int
	First        string
}

// deletion is an Application whose deletion waits.
type deletion struct {
	Application string
	Since       time.Time
}

// attentionPage is what somebody should look at.
func attentionPage(v *visit, p *painted) error {
	p.Title, p.Page = "Attention", "attention"
	orphans, err := v.Hub.Orphans(v.Request.Context())
	unread := apierrors.IsForbidden(err)
	if err != nil && !unread {
		return err
	}
	stale := v.rows(isStale)
	more := max(0, len(stale)-maxRows)
	for _, section := range []struct {
		name string
		data map[string]any
	}{
		{"blocked", map[string]any{"Stopped": stoppedOf(v.fleet.Rows)}},
		{"stale", map[string]any{"Rows": stale[:len(stale)-more], "More": more}},
		{"deletions", map[string]any{"Deletions": deletions(v.fleet.Deleting)}},
		{"orphans", map[string]any{"Orphans": orphans, "Unread": unread}},
	} {
		section.data["Query"] = p.Query
		if err := p.add(section.name+".html", section.name, section.data); err != nil {
			return err
		}
	}
	return nil
}

// isStale tells whether what is shown of an Application is old, as far as is known.
func isStale(r *view.Row) bool {
	return r.Reason == apis.ConditionClusterUnreachableWarning || r.Reason == apis.ConditionNotCompared
}

// stoppedOf counts the Applications that are stopped by namespace and reason, the most frequent first.
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

// deletions are those that wait, the oldest first.
func deletions(deleting map[string]time.Time) []deletion {
	var out []deletion
	for _, app := range slices.Sorted(maps.Keys(deleting)) {
		out = append(out, deletion{app, deleting[app]})
	}
	slices.SortStableFunc(out, func(a, b deletion) int { return a.Since.Compare(b.Since) })
	return out
}
