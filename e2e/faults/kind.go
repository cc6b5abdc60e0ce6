package faults

import "net/http"

// Kind is the fault of a write.
type Kind string

// Kinds of faults of writes.
const (
	// KillBefore kills Towline before the write reaches the API server, and KillAfter kills Towline after the write.
	KillBefore Kind = "kill-before"
	KillAfter  Kind = "kill-after"

	// Lost performs the write, and answers 504.
	Lost Kind = "lost"

	// Cut performs the write, and ends the connection without an answer.
	Cut Kind = "cut"

	// Conflict, Expired, Throttled and Failed answer 409, 410, 429 with Retry-After, and 500, without the write.
	Conflict  Kind = "409"
	Expired   Kind = "410"
	Throttled Kind = "429"
	Failed    Kind = "500"

	// Delayed performs the write five seconds later.
	Delayed Kind = "delay"
)

// Kinds are the faults of a single write, and Kills are the faults of the process.
var (
	Kinds = []Kind{Lost, Cut, Conflict, Expired, Throttled, Failed, Delayed}
	Kills = []Kind{KillBefore, KillAfter}
)

// refusals are the answers in place of the API server's answer.
var refusals = map[Kind]struct {
	code   int
	reason string
}{
	Lost:      {http.StatusGatewayTimeout, "Timeout"},
	Conflict:  {http.StatusConflict, "Conflict"},
	Expired:   {http.StatusGone, "Expired"},
	Throttled: {http.StatusTooManyRequests, "TooManyRequests"},
	Failed:    {http.StatusInternalServerError, "InternalError"},
}

// carriedOut reports whether the API server performs the write at once.
func (k Kind) carriedOut() bool { return k == Lost || k == Cut || k == KillAfter }

// kills reports whether the fault kills the process.
func (k Kind) kills() bool { return k == KillBefore || k == KillAfter }

// WatchKind is the fault of a watch.
type WatchKind string

// Kinds of faults of watches.
const (
	// Lags delays each event. Stops delivers no event for a while, and then all events.
	Lags  WatchKind = "watch-lags"
	Stops WatchKind = "watch-stops"

	// Ends ends the stream from time to time. Expires sends a 410 before the end, so that the client lists all objects
	// again.
	Ends    WatchKind = "watch-ends"
	Expires WatchKind = "watch-expires"
)

// reported is the resource that Towline's agent writes.
const reported = "applicationreports"

// WatchKinds are all faults of watches, and WatchedResources the resources with such faults. Reports have faults only
// in flows of the agent.
var (
	WatchKinds       = []WatchKind{Lags, Stops, Ends, Expires}
	WatchedResources = []string{"applications", "manifestworks", reported}
)
