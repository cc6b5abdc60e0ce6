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

// action is the next step for a request.
type action int

const (
	// actionNone means that the hub has no request, or that the request must wait.
	actionNone action = iota

	// actionStamp means: give the hub's operation an identity. actionSend follows later.
	actionStamp

	// actionSend means: let the work carry the request instead of the Application.
	actionSend

	// actionClear means: the cluster has accepted the hub's operation, or already runs an equal operation. Remove the
	// operation from the hub.
	actionClear

	// actionDrop means: the hub's operation is empty. Remove the operation from the hub.
	actionDrop
)

// Cluster is the known state of operations on the cluster's Application. All fields come from one version of the
// Application.
type Cluster struct {
	// Version is the resourceVersion of the cluster's Application. Version is empty while the cluster's report is
	// missing or incomplete.
	Version string

	// Taken is the identity from the hub of the last operation that the cluster's Argo CD began. Empty for an operation
	// of different origin.
	Taken string

	// Pending is the identity of the waiting or running operation on the cluster.
	Pending string

	// Busy is true while an operation runs on the cluster.
	Busy bool

	// StartedAt is the start of the running or last operation, in RFC 3339.
	StartedAt string

	// Ready is true if the agent has applied the current work, and the work carries the Application with the hub's
	// spec.
	Ready bool
}

// nextAction returns the next step for the hub's operation. wanted is the JSON of the operation, empty for none. sent is
// the last request in the work. The caller does not ask while a request is under way.
func nextAction(wanted []byte, sent Sent, there Cluster) action {
	id := ID(wanted)
	switch {
	case len(wanted) == 0:
		return actionNone
	case !syncs(wanted):
		return actionDrop
	case id != "" && there.Taken == id:
		return actionClear
	case id == "" && there.Busy && there.Taken != "" && there.Taken == sent.ID && Digest(wanted) == sent.Digest:
		return actionClear // the user repeated a running operation: Argo CD would refuse the repetition
	case there.Busy || there.Pending != "":
		return actionNone // wait for the end of the running operation, or for Argo CD to begin
	case id == "":
		return actionStamp
	case sent.ID == id && sent.Version == there.Version:
		return actionNone // the cluster has not reported a result yet
	case there.Version == "" || !there.Ready:
		return actionNone
	case sent.ID == id && sent.State == Delivered:
		return actionClear // the operation was delivered and is over; a later operation has begun
	}
	return actionSend
}

// syncs returns whether an operation has a sync. Argo CD (2.14) fails an operation without one. A patch of an already
// removed operation can leave a fragment without sync. For example, the ApplicationSet controller repeats a sync with a
// merge patch of only the different fields.
func syncs(operation []byte) bool {
	var o struct {
		Sync json.RawMessage `json:"sync"`
	}
	return json.Unmarshal(operation, &o) != nil || len(o.Sync) > 0 // WithID reports unreadable JSON
}

// identity matches the results of newID.
var identity = regexp.MustCompile(`^[0-9]{1,20}-[0-9A-Za-z-]{1,64}$`)

// newID returns an identity. The identity begins with its creation time, as a help for people.
func newID(now time.Time, random string) string {
	return strconv.FormatInt(now.Unix(), 10) + "-" + random
}

// info is an entry of an operation's info list.
type info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ID returns the identity of an operation, or an empty string. An identity in a foreign format does not count, because
// a user could have written the text. Also, an annotation must hold the identity as one word.
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

// WithID returns the operation with the identity id in place of any earlier identity. All other fields keep their
// bytes.
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
