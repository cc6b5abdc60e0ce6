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
	// Kind is normal or hard.
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

// Next is the refresh that the work is to carry when the hub asks for that kind, empty for none, how it stands, and when to look again
// though nothing has changed; zero for never. reconciledAt is when the cluster last compared. The hub's annotation goes
// with Done and TimedOut, and the work's when the hub's is gone.
func (r Refresh) Next(kind, reconciledAt string, now time.Time) (Refresh, Outcome, time.Duration) {
	if kind == "" {
		return Refresh{}, Waiting, 0
	}
	settles := settling(reconciledAt, now)
	left := RefreshDeadline - now.Sub(r.Since)
	switch {
	case r.Kind != kind && settles > 0:
		return r, Waiting, settles
	case r.Kind != kind:
		return Refresh{Kind: kind, Before: reconciledAt, Since: now.UTC().Truncate(time.Second)}, Waiting, RefreshDeadline
	case reconciledAt > r.Before:
		return r, Done, 0
	case left <= 0:
		return r, TimedOut, 0
	}
	return r, Waiting, left
}

// settling is how long the second lasts in which the cluster last compared. reconciledAt has whole seconds: the answer
// to a refresh in the same one could not be told from what was there before, and would be waited for until the
// deadline. A time that the hub's clock has not reached, or has long passed, says nothing of that.
func settling(reconciledAt string, now time.Time) time.Duration {
	at, err := time.Parse(time.RFC3339, reconciledAt)
	if err != nil || at.After(now) {
		return 0
	}
	return max(0, at.Add(time.Second).Sub(now))
}
