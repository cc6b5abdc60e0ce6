package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Table writes results side by side, as Markdown, with how each figure grew from the smallest fleet to the largest.
func Table(w io.Writer, results ...*Result) error {
	results = slices.SortedFunc(slices.Values(results), func(a, b *Result) int { return a.Applications - b.Applications })
	header, rule := []string{"", ""}, []string{"---", "---"}
	for _, r := range results {
		header = append(header, fmt.Sprintf("%d × %d = %d", r.Clusters, r.Sets, r.Applications))
		rule = append(rule, "---:")
	}
	if len(results) > 1 {
		header, rule = append(header, "growth"), append(rule, "---:")
	}
	lines := [][]string{header, rule}
	for _, f := range Figures {
		if line := f.line(results); line != nil {
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

// line is the row of a figure; nil when no result has it.
func (f Figure) line(results []*Result) []string {
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
	if len(results) > 1 {
		line = append(line, growth(results[0].Figures[f.Name], results[len(results)-1].Figures[f.Name]))
	}
	return line
}

func growth(small, large float64) string {
	if small == 0 || large == 0 {
		return ""
	}
	return fmt.Sprintf("× %.2f", large/small)
}

// Costs writes what each phase took: seconds, cores by process, and requests.
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
