package simulation

import (
	"slices"
	"strconv"
	"strings"
)

// operations with one word after them: the value, and none for who.
var aboutCluster = []string{"wait", "settle"}

// Parse reads what Script wrote: a step a line. Blank lines and those that begin with # are passed over.
func Parse(script string) []Step {
	var out []Step
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
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

// Case is a script with what is to be seen each time that all has settled.
type Case struct {
	// Title names it.
	Title string

	// Steps are the script, Observations what Observer says after each "settle".
	Steps        []Step
	Observations []string
}

// ParseCases reads cases: a title behind "==", steps a line, observations behind ">".
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

// String is the case as ParseCases reads it.
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
