package simulation

import (
	"slices"
	"strconv"
	"strings"
)

// aboutCluster are the operations with a single word as the value. The word is in Who.
var aboutCluster = []string{"wait", "settle"}

// Parse reads the format of Script, with one step for each line. Blank lines are skipped, and comments after #.
func Parse(script string) []Step {
	var out []Step
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, parseStep(line))
		}
	}
	return out
}

func parseStep(line string) Step {
	var s Step
	line, inner, nested := strings.Cut(line, " { ")
	if nested {
		for part := range strings.SplitSeq(strings.TrimSuffix(inner, " }"), "; ") {
			s.Inner = append(s.Inner, parseStep(part))
		}
	}
	words := strings.Fields(line)
	if i := slices.Index(words, "at"); i > 0 && i+1 < len(words) {
		s.At, _ = strconv.Atoi(words[i+1])
		if i+2 < len(words) {
			s.Fault = Fault(words[i+2])
		}
		words = words[:i]
	}
	s.Op = words[0]
	if len(words) > 1 {
		s.Who = words[1]
	}
	if len(words) > 2 && !slices.Contains(aboutCluster, s.Op) {
		s.What = strings.Join(words[2:], " ")
	}
	return s
}

// Case is a script with the expected observations after each "settle".
type Case struct {
	// Title is the name of the case.
	Title string

	// Steps are the script. Observations are the lines of the Observer after each "settle".
	Steps        []Step
	Observations []string
}

// ParseCases reads cases: a title after "==", one step for each line, and observations after ">".
func ParseCases(text string) []Case {
	var out []Case
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch title, is := strings.CutPrefix(line, "== "); {
		case is:
			out = append(out, Case{Title: title})
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "> "):
			c := &out[len(out)-1]
			c.Observations = append(c.Observations, line[2:])
		default:
			c := &out[len(out)-1]
			c.Steps = append(c.Steps, parseStep(line))
		}
	}
	return out
}

// String returns the case in the format of ParseCases.
func (c Case) String() string {
	var b strings.Builder
	b.WriteString("\n== " + c.Title + "\n")
	seen := c.Observations
	for i := range c.Steps {
		b.WriteString(c.Steps[i].String() + "\n")
		if c.Steps[i].Op == "settle" && len(seen) > 0 {
			b.WriteString("> " + seen[0] + "\n")
			seen = seen[1:]
		}
	}
	return b.String()
}
