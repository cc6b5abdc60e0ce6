package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/why"
)

// Line is what a check found.
type Line struct {
	// Name is what was looked at.
	Name string `json:"name"`

	// State is why.OK, why.Waiting for what works with less or comes by itself, why.Blocked, or why.Unknown.
	State why.State `json:"state"`

	// Message says what is there, or what is wrong.
	Message string `json:"message"`

	// Do is what to do about it; empty for nothing.
	Do string `json:"do,omitempty"`
}

// Verdict is the worst state of all lines: blocked, then unknown, as that may be anything, then waiting.
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

// lesser is a line of what works, with less than all.
func lesser(name, do, format string, args ...any) Line {
	return Line{Name: name, State: why.Waiting, Message: fmt.Sprintf(format, args...), Do: do}
}

func unknown(name, what string) Line {
	return Line{Name: name, State: why.Unknown, Message: "you may not read " + what}
}

// some are the first of many names.
func some(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
