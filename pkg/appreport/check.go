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

// The longest texts, as in the schema of ApplicationReport.
const (
	maxGroup   = 253
	maxKind    = 63
	maxAddress = 1024
)

// checker validates values and records the fields with invalid values. Its methods clear an invalid value. An empty
// value is always valid.
type checker struct{ rejected map[string]bool }

func (c *checker) reject(field string) {
	if c.rejected == nil {
		c.rejected = map[string]bool{}
	}
	c.rejected[field] = true
}

// sorted returns the names of the fields with an invalid value, sorted.
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

// webAddress accepts only addresses for a browser.
func (c *checker) webAddress(field string, s *string) {
	u, err := url.Parse(*s)
	ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
	c.hold(field, s, ok && feedback.IsLine(*s, maxAddress))
}

// number moves a number into its range.
func (c *checker) number(field string, n *int64, low, high int64) {
	if held := min(max(*n, low), high); held != *n {
		*n = held
		c.reject(field)
	}
}

// message makes a text safe to show. A long text is cut, which does not count as invalid.
func message(s *string) { *s = feedback.Clean(*s, feedback.MaxMessage) }

// each applies a check to the texts of a list, and drops empty texts.
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
