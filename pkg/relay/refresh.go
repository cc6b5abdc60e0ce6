package relay

import (
	"strings"
	"time"
)

// RefreshDeadline is how long a hub Application waits for its cluster to have refreshed. Then the request is
// dropped, so that the UI and the CLI, which wait for the annotation to go, return.
const RefreshDeadline = time.Minute

// Refresh is a refresh that is on its way. The zero value: there is none.
type Refresh struct {
	// Kind is the value of Argo CD's annotation: normal or hard.
	Kind string

	// Before is when the cluster had last compared as far as was known when the refresh was sent, in RFC 3339
	// and UTC; empty when it never had.
	Before string

	// Since is when it was sent, to the second.
	Since time.Time
}

// never stands for an empty Before in an annotation.
const never = "-"

// ParseRefresh reads what String wrote. Anything else is no refresh.
func ParseRefresh(annotation string) Refresh {
	f := strings.Fields(annotation)
	if len(f) != 3 {
		return Refresh{}
	}
	since, err := time.Parse(time.RFC3339, f[2])
	if err != nil {
		return Refresh{}
	}
	if f[1] == never {
		f[1] = ""
	}
	return Refresh{Kind: f[0], Before: f[1], Since: since}
}

// String is the annotation by which a work remembers the refresh; empty for none.
func (r Refresh) String() string {
	if r.Kind == "" {
		return ""
	}
	before := r.Before
	if before == "" {
		before = never
	}
	return strings.Join([]string{r.Kind, before, r.Since.UTC().Format(time.RFC3339)}, " ")
}

// Outcome is how a refresh stands.
type Outcome int

const (
	// Waiting means: the cluster has not compared since, or there is no refresh.
	Waiting Outcome = iota

	// Done means: the cluster has compared since.
	Done

	// TimedOut means: it has not, and that took too long.
	TimedOut
)

// Next is the refresh that the work is to carry when the hub asks for kind, and how it stands. reconciledAt is when
// the cluster last compared. The hub's annotation goes with Done and TimedOut, and the work's when the hub's is gone.
func (r Refresh) Next(kind, reconciledAt string, now time.Time) (Refresh, Outcome) {
	switch {
	case kind == "":
		return Refresh{}, Waiting
	case strings.ContainsAny(kind, " \t\n"):
		kind = "normal" // what Argo CD takes any unknown kind for
	}
	switch {
	case r.Kind != kind:
		return Refresh{Kind: kind, Before: reconciledAt, Since: now.UTC().Truncate(time.Second)}, Waiting
	case reconciledAt > r.Before:
		return r, Done
	case now.Sub(r.Since) >= RefreshDeadline:
		return r, TimedOut
	}
	return r, Waiting
}

// Left is how long until the deadline.
func (r Refresh) Left(now time.Time) time.Duration { return max(0, RefreshDeadline-now.Sub(r.Since)) }
