package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/why"
)

// Line is the result of a check.
type Line struct {
	// Name is the name of the checked part.
	Name string `json:"name"`

	// State is why.OK, why.Blocked, why.Unknown, or why.Waiting. Waiting means a reduced function, or a state that ends
	// without help.
	State why.State `json:"state"`

	// Message describes the state or the problem.
	Message string `json:"message"`

	// Do is the remedy; empty for none.
	Do string `json:"do,omitempty"`
}

// Verdict returns the worst state of all lines: Blocked, then Unknown, then Waiting. Unknown is worse than Waiting
// because an unknown fact may be any problem.
func Verdict(lines []Line) why.State {
	for _, s := range []why.State{why.Blocked, why.Unknown, why.Waiting} {
		if slices.ContainsFunc(lines, func(l Line) bool { return l.State == s }) {
			return s
		}
	}
	return why.OK
}

func good(name, format string, args ...any) Line {
	return Line{Name: name, State: why.OK, Message: fmt.Sprintf(format, args...)}
}

func wrong(name, do, format string, args ...any) Line {
	return Line{Name: name, State: why.Blocked, Message: fmt.Sprintf(format, args...), Do: do}
}

// lesser returns a line about a reduced function.
func lesser(name, do, format string, args ...any) Line {
	return Line{Name: name, State: why.Waiting, Message: fmt.Sprintf(format, args...), Do: do}
}

func unknown(name, what string) Line {
	return Line{Name: name, State: why.Unknown, Message: "you may not read " + what}
}

// some joins the first of many names.
func some(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
