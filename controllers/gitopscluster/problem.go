package gitopscluster

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is why something cannot be done, in words for the one who can change that.
type Problem struct {
	// Reason is one of the Reason… constants of package apis.
	Reason string

	// Message says what is wrong and what to do.
	Message string

	// cause is set where no watch tells when the problem is over, so that it has to be tried again.
	cause error
}

func (p *Problem) Error() string { return p.Message }

func problemf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// because makes the problem one that has to be tried again.
func (p *Problem) because(err error) *Problem {
	p.cause = err
	return p
}

// isFailure tells whether an error is none that people have to mend, but one for another attempt.
func isFailure(err error) bool { return failure(err) != nil }

// failure is nil for a Problem.
func failure(err error) error {
	if _, problem := errors.AsType[*Problem](err); problem {
		return nil
	}
	return err
}

// shownAtOnce is how many of many are named.
const shownAtOnce = 5

// some names the first of many, and says how many more there are.
func some(names []string) string {
	if len(names) <= shownAtOnce {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shownAtOnce], ", "), len(names)-shownAtOnce)
}
