package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

// lostAfter is how long an operation may be neither waiting nor taken on a cluster where another one has ended
// since, before it counts as overwritten. Feedback takes milliseconds by watch, and seconds where it is polled.
const lostAfter = time.Minute

// Action is what to do about an operation.
type Action int

const (
	// None means: nothing is asked for and nothing is on its way, or it has to wait for its turn.
	None Action = iota

	// Stamp means: give the hub's operation the identity Operation.ID; sending comes next.
	Stamp

	// Send means: put the hub's operation into the payload.
	Send

	// Hold means: leave the payload as it is.
	Hold

	// Clear means: the cluster has taken the hub's operation, or runs just that one already; take it off the hub
	// Application and leave the payload.
	Clear
)

// Operation is all that decides about an operation.
type Operation struct {
	// Wanted is the JSON of the hub Application's operation; empty when there is none.
	Wanted []byte

	// Sent is the JSON of the operation in the work's payload; empty when there is none.
	Sent []byte

	// Taken is the identity of the operation that the cluster's Argo CD last began, as far as it is known.
	Taken string

	// Pending is the identity of the operation that waits or runs on the cluster's Application.
	Pending string

	// Busy is set while an operation runs there.
	Busy bool

	// FinishedAt is when the last one ended, in RFC 3339 and UTC.
	FinishedAt string

	// Applied is set when the work agent has applied the work as it is now.
	Applied bool
}

// Next is what to do now. It is asked again whenever something changes.
func (o *Operation) Next(now time.Time) Action {
	wanted, sent := ID(o.Wanted), ID(o.Sent)
	inFlight := sent != "" && o.Taken == sent && o.Busy
	switch {
	case wanted != "" && o.Taken == wanted:
		return Clear
	case inFlight && len(o.Wanted) > 0 && wanted == "" && same(o.Wanted, o.Sent):
		return Clear // asked for again while it runs; Argo CD forgets such a request when the one that runs ends
	case inFlight:
		return Hold // what runs is not stopped; the next one waits
	case len(o.Wanted) == 0:
		return None // never asked for, ended, or withdrawn before the cluster took it
	case wanted == "" && o.Busy:
		return None // another one runs; Argo CD would refuse this one, here it waits for its turn
	case wanted == "", o.lost(wanted, now):
		return Stamp
	case sent == wanted:
		return Hold
	}
	return Send
}

// lost tells whether the operation that was sent has been overwritten on the cluster: Argo CD clears the field when
// an operation ends, also one that was put there while that one was running.
func (o *Operation) lost(wanted string, now time.Time) bool {
	since, ok := stampedAt(wanted)
	return ok && ID(o.Sent) == wanted && o.Applied && o.Pending == "" && !o.Busy &&
		now.Sub(since) > lostAfter && o.FinishedAt >= since.UTC().Format(time.RFC3339)
}

// same tells whether two operations ask for the same, whatever their identities.
func same(a, b []byte) bool {
	x, errX := WithID(a, "")
	y, errY := WithID(b, "")
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// NewID is an identity that begins with the time it was given, so that it is known how long it has been on its way.
func NewID(now time.Time, random string) string {
	return strconv.FormatInt(now.Unix(), 10) + "-" + random
}

func stampedAt(id string) (time.Time, bool) {
	seconds, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0), err == nil
}

// info is an entry of an operation's info list.
type info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ID is the identity of an operation; empty when it has none, and for no operation.
func ID(operation []byte) string {
	var o struct {
		Info []info `json:"info"`
	}
	if len(operation) == 0 || json.Unmarshal(operation, &o) != nil {
		return ""
	}
	for _, i := range o.Info {
		if i.Name == apis.OperationInfo {
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
