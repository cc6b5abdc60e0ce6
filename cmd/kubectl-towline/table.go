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
	// narrow is how many bytes of a message a table shows; wide tables show as much as Towline does.
	narrow = 96

	// shortHash is how much of a commit a table shows.
	shortHash = 8

	// notKnown stands for what is not known.
	notKnown = "-"
)

// table prints lines with aligned columns, each behind the sign of a state.
type table struct {
	o     *options
	lines [][]string
	state []why.State
}

// newTable is a table with a headline.
func (o *options) newTable(columns ...string) *table {
	t := &table{o: o}
	t.add("", columns...)
	return t
}

// add adds a line. What is empty is shown as notKnown. A cell is cut, as each line is as wide as the widest: whoever writes Applications
// writes their status too.
func (t *table) add(state why.State, cells ...string) {
	line := make([]string, len(cells))
	for i, c := range cells {
		if line[i] = bounded(c); line[i] == "" && state != "" {
			line[i] = notKnown
		}
	}
	t.lines, t.state = append(t.lines, line), append(t.state, state)
}

// write prints it as far as limit lines; 0 for all.
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

// rowTable is the table of rows of Applications.
func (o *options) rowTable(rows []view.Row, namespaces bool) *table {
	columns := []string{"NAME", "CLUSTER", "SYNC", "HEALTH", "OPERATION", "REVISION", "HEARD", "WHY"}
	if namespaces {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	t := o.newTable(columns...)
	for i := range rows {
		r := &rows[i]
		cells := []string{r.Name, r.Cluster, r.Sync, r.Health, r.Operation, o.revision(r.Revision), age(r.Heard), o.because(r.Reason, r.Message)}
		if namespaces {
			cells = append([]string{r.Namespace}, cells...)
		}
		t.add(r.State, cells...)
	}
	return t
}

// because is why something is not well.
func (o *options) because(reason, message string) string {
	text := view.Because(reason, message)
	if o.output != "wide" {
		text = feedback.Clean(text, narrow)
	}
	return text
}

// revision is that of a row, short where it is a commit.
func (o *options) revision(r string) string {
	parts := strings.Split(r, ",")
	for i, p := range parts {
		if o.output != "wide" && len(p) == 40 && strings.Trim(p, "0123456789abcdef") == "" {
			parts[i] = p[:shortHash]
		}
	}
	return strings.Join(parts, ",")
}

// age is how long ago something was; empty where that is not known.
func age(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(*t))
}

// printUnread says what may not be read: below a table, and beside anything else.
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

// show prints a view: as a table, or as it is.
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
