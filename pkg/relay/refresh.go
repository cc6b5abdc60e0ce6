package relay

import (
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

// RefreshDeadline is how long a hub Application waits for its cluster to have refreshed. Then the request is
// dropped, so that the UI and the CLI, which wait for the annotation to go, return.
const RefreshDeadline = time.Minute

// ChangeDeadline is how long a cluster may take to compare an Application that has changed. Then the hub says that it has not; the request,
// for which nobody waits, stays.
const ChangeDeadline = 5 * time.Minute

// Refresh is a refresh that is on its way. The zero value: there is none.
type Refresh struct {
	// Kind is normal, hard, or apis.RefreshSpecChanged.
	Kind string

	// ID is its identity. The cluster's Application carries it beside the refresh, so that an Application which was
	// read before is not taken for one that has been compared since.
	ID string

	// Since is when it was sent, to the second.
	Since time.Time
}

// ParseRefresh reads what String wrote. Anything else is no refresh.
func ParseRefresh(annotation string) Refresh {
	f := strings.Fields(annotation)
	if len(f) != 3 {
		return Refresh{}
	}
	since, ok := parseSecond(f[2])
	if !ok {
		return Refresh{}
	}
	return Refresh{Kind: f[0], ID: f[1], Since: since}
}

// String is the annotation by which a work remembers the refresh; empty for none.
func (r Refresh) String() string {
	if r.Kind == "" {
		return ""
	}
	return strings.Join([]string{r.Kind, r.ID, r.Since.UTC().Format(time.RFC3339)}, " ")
}

// parseSecond reads a time as an annotation has it: in UTC, to the second. Another spelling would not be the same when it is
// written again.
func parseSecond(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil && t.UTC().Format(time.RFC3339) == text
}

// Outcome is how a refresh stands.
type Outcome int

const (
	// Waiting means: the cluster has not answered, or there is no refresh.
	Waiting Outcome = iota

	// Done means: the cluster has compared since.
	Done

	// TimedOut means: it has not, and that took too long.
	TimedOut

	// Late means: it has not compared what has changed, and that takes too long; it is still asked to.
	Late
)

// Next is the refresh that the work is to carry when the hub asks for that kind, empty for none, how it stands, and when to
// look again though nothing has changed; zero for never. answered tells that the cluster has compared since this one was
// applied, and id is the identity of a new one. The refresh goes from the work and from the hub with Done and TimedOut.
//
// Nobody waits for the one that Towline asks for itself after a change: it is never dropped.
func (r Refresh) Next(kind, id string, answered bool, now time.Time) (Refresh, Outcome, time.Duration) {
	deadline := RefreshDeadline
	if kind == apis.RefreshSpecChanged {
		deadline = ChangeDeadline
	}
	left := deadline - now.Sub(r.Since)
	switch {
	case kind == "":
		return Refresh{}, Waiting, 0
	case r.Kind != kind:
		return Refresh{Kind: kind, ID: id, Since: now.UTC().Truncate(time.Second)}, Waiting, deadline
	case answered:
		return r, Done, 0
	case left <= 0 && kind == apis.RefreshSpecChanged:
		return r, Late, 0
	case left <= 0:
		return r, TimedOut, 0
	}
	return r, Waiting, left
}
