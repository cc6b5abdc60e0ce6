package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

// Action is what to do about a request.
type Action int

const (
	// None means: nothing is asked for, or it has to wait.
	None Action = iota

	// Stamp means: give the hub's operation an identity; sending comes next.
	Stamp

	// Send means: let the work carry the request instead of the Application.
	Send

	// Clear means: the cluster has taken the hub's operation, or runs just that one already; take it off the hub.
	Clear

	// Drop means: the hub's operation asks for nothing; take it off the hub.
	Drop
)

// Cluster is what is known of operations on the cluster's Application. All of it was read from one version of it.
type Cluster struct {
	// Version is the resourceVersion of the cluster's Application; empty while the cluster has not told, or not
	// everything.
	Version string

	// Taken is the identity of the operation that the cluster's Argo CD last began, where the hub gave it one.
	Taken string

	// Pending is the identity of the operation that waits or runs there.
	Pending string

	// Busy is set while an operation runs there.
	Busy bool

	// StartedAt is when the operation that runs or ended last began, in RFC 3339.
	StartedAt string

	// Ready is set when the agent has applied the work as it is, and the work carries the Application with the spec of the hub.
	Ready bool
}

// Operation is what to do about the operation that the hub asks for: wanted is its JSON, empty when there is none.
// sent is the request that the work carried last; one that is on its way is not asked about.
func Operation(wanted []byte, sent Sent, there Cluster) Action {
	id := ID(wanted)
	switch {
	case len(wanted) == 0:
		return None
	case !syncs(wanted):
		return Drop
	case id != "" && there.Taken == id:
		return Clear
	case id == "" && there.Busy && there.Taken != "" && there.Taken == sent.ID && Digest(wanted) == sent.Digest:
		return Clear // asked for again while it runs: Argo CD would refuse it
	case there.Busy || there.Pending != "":
		return None // it waits for its turn, or for Argo CD to begin
	case id == "":
		return Stamp
	case sent.ID == id && sent.Version == there.Version:
		return None // what became of it has not been seen yet
	case there.Version == "" || !there.Ready:
		return None
	case sent.ID == id && sent.State == Delivered:
		return Clear // it was there and is over; another one has begun since
	}
	return Send
}

// syncs tells whether an operation asks for anything: Argo CD (2.14) fails one without sync. Such a one is left behind by
// who patches an operation that has been taken off meanwhile, as the ApplicationSet controller does when it asks for
// the same sync once more: its merge patch holds nothing but what differed.
func syncs(operation []byte) bool {
	var o struct {
		Sync json.RawMessage `json:"sync"`
	}
	return json.Unmarshal(operation, &o) != nil || len(o.Sync) > 0 // what cannot be read is another matter
}

// identity is what NewID makes.
var identity = regexp.MustCompile(`^[0-9]{1,20}-[0-9A-Za-z-]{1,64}$`)

// NewID is an identity that begins with the time it was given, for people who look for it.
func NewID(now time.Time, random string) string {
	return strconv.FormatInt(now.Unix(), 10) + "-" + random
}

// info is an entry of an operation's info list.
type info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ID is the identity of an operation; empty when it has none, and for no operation. What does not look like one of ours
// is none: whoever asks for an operation could have written it, and an annotation has to hold it as one word.
func ID(operation []byte) string {
	var o struct {
		Info []info `json:"info"`
	}
	if len(operation) == 0 || json.Unmarshal(operation, &o) != nil {
		return ""
	}
	for _, i := range o.Info {
		if i.Name == apis.OperationInfo && identity.MatchString(i.Value) {
			return i.Value
		}
	}
	return ""
}

// WithID is the operation with that identity in place of any other. All other fields keep their bytes.
func WithID(operation []byte, id string) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(operation, &fields); err != nil {
		return nil, fmt.Errorf("operation: %w", err)
	}
	if fields == nil {
		return nil, errors.New("operation: null is no operation")
	}
	var entries []info
	if raw, ok := fields["info"]; ok {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, fmt.Errorf("operation.info: %w", err)
		}
	}
	kept := []info{}
	for _, i := range entries {
		if i.Name != apis.OperationInfo {
			kept = append(kept, i)
		}
	}
	raw, err := json.Marshal(append(kept, info{Name: apis.OperationInfo, Value: id}))
	if err != nil {
		return nil, err
	}
	fields["info"] = raw
	return json.Marshal(fields)
}
