package faults

import "net/http"

// Kind is what happens to a write.
type Kind string

// The kinds of faults of writes.
const (
	// KillBefore kills Towline before the write arrives, and KillAfter after it was carried out.
	KillBefore Kind = "kill-before"
	KillAfter  Kind = "kill-after"

	// Lost has the write carried out, and answers 504.
	Lost Kind = "lost"

	// Cut has it carried out, and ends the connection without an answer.
	Cut Kind = "cut"

	// Conflict, Expired, Throttled and Failed answer 409, 410, 429 with Retry-After, and 500, and carry nothing out.
	Conflict  Kind = "409"
	Expired   Kind = "410"
	Throttled Kind = "429"
	Failed    Kind = "500"

	// Delayed has it carried out five seconds later.
	Delayed Kind = "delay"
)

// Kinds are those that meet a single write, and Kills those that meet the process.
var (
	Kinds = []Kind{Lost, Cut, Conflict, Expired, Throttled, Failed, Delayed}
	Kills = []Kind{KillBefore, KillAfter}
)

// refusals are what is answered in place of the API server.
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

// carriedOut tells whether the API server is to carry a write out at once.
func (k Kind) carriedOut() bool { return k == Lost || k == Cut || k == KillAfter }

// kills tells whether it needs the process to be killed.
func (k Kind) kills() bool { return k == KillBefore || k == KillAfter }

// WatchKind is what happens to a watch.
type WatchKind string

// The kinds of faults of watches.
const (
	// Lags has each event arrive later, Stops has none arrive for a while, and then all.
	Lags  WatchKind = "watch-lags"
	Stops WatchKind = "watch-stops"

	// Ends ends the stream now and then, and Expires has it say 410 before: then all is listed again.
	Ends    WatchKind = "watch-ends"
	Expires WatchKind = "watch-expires"
)

// reported is the resource that Towline's agent writes.
const reported = "applicationreports"

// WatchKinds are all of them, and WatchedResources those whose watches they meet: reports in flows of the agent only.
var (
	WatchKinds       = []WatchKind{Lags, Stops, Ends, Expires}
	WatchedResources = []string{"applications", "manifestworks", reported}
)
