package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// Table writes results side by side, as Markdown. The last column has the growth of each figure from the smallest fleet
// to the largest.
func Table(w io.Writer, results ...*Result) error {
	results = slices.SortedStableFunc(slices.Values(results), func(a, b *Result) int { return a.Applications - b.Applications })
	header, rule := []string{"", ""}, []string{"---", "---"}
	for _, r := range results {
		header = append(header, r.title())
		rule = append(rule, "---:")
	}
	last := quotient(results)
	if last != "" {
		header, rule = append(header, last), append(rule, "---:")
	}
	lines := [][]string{header, rule}
	for _, f := range Figures {
		if line := f.line(results, last != ""); line != nil {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// title returns a description of a result: sizes and options.
func (r *Result) title() string {
	size := fmt.Sprintf("%d × %d = %d", r.Clusters, r.Sets, r.Applications)
	if r.onMaestro() {
		size += ", Maestro"
	}
	if r.Reporting > 0 {
		size += fmt.Sprintf(", %d clusters report", r.Reporting)
	}
	if r.BySet {
		size += ", by set"
	}
	if r.AtOnce {
		size += ", reported at once"
	}
	return size
}

func (r *Result) onMaestro() bool { return r.Transport == fleet.TransportMaestro }

// quotient returns the title of the column with the last result divided by the first. It is empty if both size and
// transport differ.
func quotient(results []*Result) string {
	first, last := results[0], results[len(results)-1]
	switch {
	case len(results) == 1:
		return ""
	case !slices.ContainsFunc(results, func(r *Result) bool { return r.onMaestro() != first.onMaestro() }):
		return "growth"
	case len(results) == 2 && first.Applications == last.Applications:
		return "second / first"
	}
	return ""
}

// line returns the row of a figure, with the quotient of the last and the first result if divided is true. It returns
// nil if no result has the figure.
func (f Figure) line(results []*Result, divided bool) []string {
	line, known := []string{f.Title, f.Unit}, false
	for _, r := range results {
		value, ok := r.Figures[f.Name]
		if known = known || ok; ok {
			line = append(line, fmt.Sprintf("%.*f", f.Digits, value))
		} else {
			line = append(line, "")
		}
	}
	if !known {
		return nil
	}
	if divided {
		line = append(line, ratio(results[0].Figures[f.Name], results[len(results)-1].Figures[f.Name]))
	}
	return line
}

func ratio(small, large float64) string {
	if small == 0 || large == 0 {
		return ""
	}
	return fmt.Sprintf("× %.2f", large/small)
}

// Costs writes the cost of each phase: seconds, cores by process, and requests.
func Costs(w io.Writer, r *Result) {
	for _, p := range r.Phases {
		fmt.Fprintf(w, "%-12s %6.1f s  cores:", p.Name, p.Seconds)
		for _, name := range slices.Sorted(maps.Keys(p.CPU)) {
			fmt.Fprintf(w, " %s %.2f", name, p.CPU[name]/p.Seconds)
		}
		fmt.Fprint(w, "  requests:")
		for _, key := range slices.Sorted(maps.Keys(p.Requests)) {
			fmt.Fprintf(w, " %s %.0f", key, p.Requests[key])
		}
		fmt.Fprintln(w)
	}
}
