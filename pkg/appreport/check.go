package appreport

import (
	"maps"
	"net/url"
	"slices"

	"github.com/towline-io/towline/pkg/feedback"
)

// Names of the fields, for logs and metrics.
const (
	fieldApplication = "application"
	fieldObservedAt  = "observedAt"
	fieldNotCompared = "notComparedSince"
	fieldStatus      = "status"
	fieldHealth      = "health"
	fieldSync        = "sync"
	fieldOperation   = "operationState"
	fieldResults     = "operationState.syncResult.resources"
	fieldReconciled  = "reconciledAt"
	fieldConditions  = "conditions"
	fieldResources   = "resources"
	fieldSummary     = "summary"
	fieldTree        = "tree"
	fieldHistory     = "history"
	fieldSourceType  = "sourceType"
)

// The longest texts, as the schema of ApplicationReport has them.
const (
	maxGroup   = 253
	maxKind    = 63
	maxAddress = 1024
)

// checker holds values to their fields and remembers where one did not fit. Its methods empty such a value; one that
// is empty already fits everywhere.
type checker struct{ rejected map[string]bool }

func (c *checker) reject(field string) {
	if c.rejected == nil {
		c.rejected = map[string]bool{}
	}
	c.rejected[field] = true
}

// sorted are the names of the fields that had a value which did not fit.
func (c *checker) sorted() []string { return slices.Sorted(maps.Keys(c.rejected)) }

func (c *checker) hold(field string, s *string, fits bool) {
	if *s != "" && !fits {
		*s = ""
		c.reject(field)
	}
}

func (c *checker) oneOf(field string, s *string, known []string) {
	c.hold(field, s, slices.Contains(known, *s))
}

func (c *checker) revision(field string, s *string) { c.hold(field, s, feedback.IsRevision(*s)) }

func (c *checker) line(field string, s *string, limit int) {
	c.hold(field, s, feedback.IsLine(*s, limit))
}

func (c *checker) time(field string, s *string) {
	t, ok := feedback.Time(*s)
	c.hold(field, s, ok)
	if ok {
		*s = t
	}
}

// webAddress lets through what a browser may be sent to.
func (c *checker) webAddress(field string, s *string) {
	u, err := url.Parse(*s)
	ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
	c.hold(field, s, ok && feedback.IsLine(*s, maxAddress))
}

// number brings a number within its bounds.
func (c *checker) number(field string, n *int64, low, high int64) {
	if held := min(max(*n, low), high); held != *n {
		*n = held
		c.reject(field)
	}
}

// message makes a text fit to be shown. A long one is cut, which is no fault of it.
func message(s *string) { *s = feedback.Clean(*s, feedback.MaxMessage) }

// each holds the texts of a list to a check and leaves out those that are empty.
func each(list []string, check func(*string)) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if check(&s); s != "" {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
