package main

import (
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

const (
	// narrow is the maximum length of a message in a table, in bytes. Wide tables show the whole message of Towline.
	narrow = 96

	// shortHash is the number of shown characters of a commit.
	shortHash = 8

	// notKnown is the cell for an unknown value.
	notKnown = "-"
)

// table prints lines with aligned columns. Each line begins with the glyph of a state.
type table struct {
	o     *options
	lines [][]string
	state []why.State
}

// newTable returns a table with a headline.
func (o *options) newTable(columns ...string) *table {
	t := &table{o: o}
	t.add("", columns...)
	return t
}

// add adds a line. An empty cell becomes notKnown. Cells have a maximum length, because each line is as wide as the
// widest line. Authors of Applications also write the status, and could use long text.
func (t *table) add(state why.State, cells ...string) {
	line := make([]string, len(cells))
	for i, c := range cells {
		if line[i] = bounded(c); line[i] == "" && state != "" {
			line[i] = notKnown
		}
	}
	t.lines, t.state = append(t.lines, line), append(t.state, state)
}

// write prints the table up to limit lines; 0 for all.
func (t *table) write(p *printer, limit int) {
	var widths []int
	for _, line := range t.lines {
		for i, c := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for i, line := range t.lines {
		if limit > 0 && i == limit {
			p.line("  and %d more", len(t.lines)-limit)
			return
		}
		var b strings.Builder
		for j, c := range line {
			b.WriteString(c + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(c)+2))
		}
		sign := " "
		if t.state[i] != "" {
			sign = t.o.glyph(t.state[i])
		}
		p.line("%s %s", sign, strings.TrimRight(b.String(), " "))
	}
}

// rowTable returns the table of rows of Applications.
func (o *options) rowTable(rows []view.Row, namespaces bool) *table {
	columns := []string{"NAME", "CLUSTER", "SYNC", "HEALTH", "OPERATION", "REVISION", "HEARD", "WHY"}
	if namespaces {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	t := o.newTable(columns...)
	for i := range rows {
		r := &rows[i]
		cells := []string{r.Name, r.Cluster, r.Sync, r.Health, r.Operation, o.revision(r.Revision), age(r.Heard), o.problem(r.Reason, r.Message)}
		if namespaces {
			cells = append([]string{r.Namespace}, cells...)
		}
		t.add(r.State, cells...)
	}
	return t
}

// problem returns the reason and message of a problem.
func (o *options) problem(reason, message string) string {
	text := view.WithReason(reason, message)
	if o.output != "wide" {
		text = feedback.Clean(text, narrow)
	}
	return text
}

// revision returns the revision of a row. A commit is shortened.
func (o *options) revision(r string) string {
	parts := strings.Split(r, ",")
	for i, p := range parts {
		if o.output != "wide" && len(p) == 40 && strings.Trim(p, "0123456789abcdef") == "" {
			parts[i] = p[:shortHash]
		}
	}
	return strings.Join(parts, ",")
}

// age returns the time since t; empty for an unknown time.
func age(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(*t))
}

// printUnread prints the refused reads: below a table, or to the error output.
func (o *options) printUnread(h *hub) error {
	to := o.Out
	if o.output != "table" && o.output != "wide" {
		to = o.ErrOut
	}
	p := &printer{to: to}
	for _, u := range h.unread.Lines() {
		p.line("%s not allowed: %s", o.glyph(why.Unknown), bounded(u))
	}
	return p.err
}

// show prints a view as a table, or in the format of --output.
func (o *options) show(h *hub, v any, names []string, t func() *table) error {
	done, err := o.printed(v, strings.Join(names, "\n"))
	if err != nil {
		return err
	}
	if !done {
		p := &printer{to: o.Out}
		t().write(p, 0)
		if p.err != nil {
			return p.err
		}
	}
	return o.printUnread(h)
}
