package relay

import (
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

// RefreshDeadline is the longest wait of a hub Application for a refresh on its cluster. Afterwards Towline drops the
// request, because the UI and the CLI wait for the removal of the annotation.
const RefreshDeadline = time.Minute

// ChangeDeadline is the time that a cluster has for the comparison of a changed Application. Afterwards the hub reports
// the missing comparison. The request stays, because no user waits for the request.
const ChangeDeadline = 5 * time.Minute

// Refresh is a refresh under way. The zero value means no refresh.
type Refresh struct {
	// Kind is normal, hard, or apis.RefreshSpecChanged.
	Kind string

	// ID is the identity of the refresh. The cluster's Application carries the ID next to the refresh. The ID
	// distinguishes a comparison after the request from an Application that was read before the request.
	ID string

	// Since is when Towline sent the refresh, to the second.
	Since time.Time
}

// ParseRefresh parses the format of String. Other text gives the zero value.
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

// String returns the annotation of the work for the refresh; empty for no refresh.
func (r Refresh) String() string {
	if r.Kind == "" {
		return ""
	}
	return strings.Join([]string{r.Kind, r.ID, r.Since.UTC().Format(time.RFC3339)}, " ")
}

// parseSecond parses a time of an annotation: UTC, to the second. parseSecond refuses other spellings, because
// String would write a different text for the same time.
func parseSecond(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil && t.UTC().Format(time.RFC3339) == text
}

// outcome is the progress of a refresh.
type outcome int

const (
	// waiting means: the cluster has not answered, or no refresh exists.
	waiting outcome = iota

	// done means: the cluster has compared the Application since the refresh.
	done

	// timedOut means: the cluster has not compared the Application before RefreshDeadline.
	timedOut

	// late means: the cluster has not compared a change before ChangeDeadline. The request stays.
	late
)

// next returns the refresh for the work, its outcome, and the time until the next check without a change. kind is the
// refresh that the hub requests, empty for none. A time of zero means no check. answered is true if the cluster has
// compared the Application since it applied this refresh. id is the identity for a new refresh. After done and
// timedOut, the caller removes the refresh from the work and from the hub.
//
// Towline's own refresh after a change never times out, because no user waits for the refresh.
func (r Refresh) next(kind, id string, answered bool, now time.Time) (Refresh, outcome, time.Duration) {
	deadline := RefreshDeadline
	if kind == apis.RefreshSpecChanged {
		deadline = ChangeDeadline
	}
	left := deadline - now.Sub(r.Since)
	switch {
	case kind == "":
		return Refresh{}, waiting, 0
	case r.Kind != kind:
		return Refresh{Kind: kind, ID: id, Since: now.UTC().Truncate(time.Second)}, waiting, deadline
	case answered:
		return r, done, 0
	case left <= 0 && kind == apis.RefreshSpecChanged:
		return r, late, 0
	case left <= 0:
		return r, timedOut, 0
	}
	return r, waiting, left
}
