package relay

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// operation returns an operation with the identity id. An empty id gives an operation without identity.
func operation(t *testing.T, id string) []byte {
	t.Helper()
	plain := []byte(`{"sync":{"revision":"abc","prune":true},"info":[{"name":"reason","value":"because"}]}`)
	if id == "" {
		return plain
	}
	out, err := WithID(plain, id)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOperation(t *testing.T) {
	first, second := newID(now, "first"), newID(now, "second")
	ready := Cluster{Version: "7", Ready: true}
	there := func(edit func(*Cluster)) Cluster {
		c := ready
		edit(&c)
		return c
	}
	runs := there(func(c *Cluster) { c.Taken, c.Pending, c.Busy = first, first, true })
	over := there(func(c *Cluster) { c.Taken = first })
	others := there(func(c *Cluster) { c.Taken, c.Busy = "x", true })
	memory := func(state State, version string) Sent {
		return Sent{State: state, ID: first, Version: version, Digest: Digest(operation(t, ""))}
	}
	tests := map[string]struct {
		wanted []byte
		sent   Sent
		there  Cluster
		want   action
	}{
		"no operation":             {nil, Sent{}, ready, actionNone},
		"the rest of a late patch": {[]byte(`{"info":[{"name":"reason","value":"because"}]}`), Sent{}, ready, actionDrop},
		"the rest of a late patch, while a second operation runs": {[]byte(`{"info":[]}`), Sent{}, others, actionDrop},
		"empty":            {[]byte(`{}`), Sent{}, Cluster{}, actionDrop},
		"an invalid shape": {[]byte(`"sync"`), Sent{}, ready, actionStamp},
		"asked for":        {operation(t, ""), Sent{}, ready, actionStamp},
		"asked for while a second operation runs": {operation(t, ""), Sent{}, others, actionNone},
		"stamped":                           {operation(t, first), Sent{}, ready, actionSend},
		"stamped, a second operation began": {operation(t, first), Sent{}, others, actionNone},
		"stamped, a second operation waits": {operation(t, first), Sent{},
			there(func(c *Cluster) { c.Pending = second }), actionNone},
		"stamped, the work is not applied": {operation(t, first), Sent{},
			there(func(c *Cluster) { c.Ready = false }), actionNone},
		"stamped, no report of the cluster": {operation(t, first), Sent{}, Cluster{Ready: true}, actionNone},
		"delivered, not seen yet":           {operation(t, first), memory(Delivered, "7"), ready, actionNone},
		"delivered, waits on the cluster": {operation(t, first), memory(Delivered, "6"),
			there(func(c *Cluster) { c.Pending = first }), actionNone},
		"delivered, runs": {operation(t, first), memory(Delivered, "6"), runs, actionClear},
		"delivered, over": {operation(t, first), memory(Delivered, "6"), over, actionClear},
		"delivered, a second operation has run since": {operation(t, first), memory(Delivered, "6"),
			there(func(c *Cluster) { c.Taken = "x" }), actionClear},
		"delivered, a second operation runs since": {operation(t, first), memory(Delivered, "6"), others, actionNone},
		"refused, no new version seen":             {operation(t, first), memory(Refused, "7"), ready, actionNone},
		"refused, a new version seen":              {operation(t, first), memory(Refused, "6"), ready, actionSend},
		"refused, but the operation runs":          {operation(t, first), memory(Refused, "6"), runs, actionClear},
		"runs, and is requested again":             {operation(t, ""), memory(Delivered, "6"), runs, actionClear},
		"runs, and a new operation is requested":   {[]byte(`{"sync":{}}`), memory(Delivered, "6"), runs, actionNone},
		"over, and is requested again":             {operation(t, ""), memory(Delivered, "6"), over, actionStamp},
		"over, the next stamped":                   {operation(t, second), memory(Delivered, "6"), over, actionSend},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if got := nextAction(tc.wanted, tc.sent, tc.there); got != tc.want {
				t.Errorf("got action %d, want %d", got, tc.want)
			}
		})
	}
}

func TestTerminate(t *testing.T) {
	const start = "2026-01-02T03:04:05Z"
	busy := Cluster{Version: "7", Busy: true, StartedAt: start, Ready: true}
	sent := Sent{State: Delivered, ID: TerminationID(start), Version: "7"}
	unready, idle, other, older := busy, busy, busy, sent
	unready.Ready, idle.Busy, other.StartedAt, older.Version = false, false, "2026-01-02T03:05:00Z", "6"
	for title, tc := range map[string]struct {
		phase string
		sent  Sent
		there Cluster
		want  bool
	}{
		"not asked for":                  {"Running", Sent{}, busy, false},
		"asked for":                      {"Terminating", Sent{}, busy, true},
		"the work is not applied":        {"Terminating", Sent{}, unready, false},
		"the operation is over":          {"Terminating", Sent{}, idle, false},
		"a second operation runs":        {"Terminating", Sent{}, other, false},
		"delivered, no new version seen": {"Terminating", sent, busy, false},
		"delivered, and overwritten":     {"Terminating", older, busy, true},
	} {
		if got := Terminate(&argocd.OperationState{Phase: tc.phase, StartedAt: start}, tc.sent, tc.there); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

func TestSent(t *testing.T) {
	for _, s := range []Sent{
		{}, {State: OnItsWay, ID: "1-a", Version: "7", Digest: "ab"}, {State: Refused, ID: "x", Version: "7"},
		{State: OnItsWay, ID: "1-a", Version: "7", Digest: "ab", Instead: "cd"},
		{State: Failed, ID: "x", Version: "7", Since: now},
	} {
		if got := ParseSent(s.String()); got != s {
			t.Errorf("%q was read as %+v", s, got)
		}
	}
	for _, bad := range []string{
		"x", "sent a b", "other a b c", "failed a b c", "failed a b c d", "delivered a b c d", "sent a b c d e",
	} {
		if got := ParseSent(bad); got != (Sent{}) {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

// TestRetry checks that a failed request has no version after RetryAfter.
func TestRetry(t *testing.T) {
	failed := Sent{State: Failed, ID: "1-a", Version: "7", Since: now}
	refused := failed
	refused.State = Refused
	for title, tc := range map[string]struct {
		sent    Sent
		at      time.Duration
		version string
		left    time.Duration
	}{
		"just now":   {failed, 0, "7", RetryAfter},
		"not yet":    {failed, RetryAfter - time.Second, "7", time.Second},
		"now":        {failed, RetryAfter, "", 0},
		"long since": {failed, time.Hour, "", 0},
		"not failed": {refused, time.Hour, "7", 0},
		"nothing":    {Sent{}, time.Hour, "", 0},
	} {
		got, left := tc.sent.retry(now.Add(tc.at))
		if got.Version != tc.version || got.ID != tc.sent.ID || left != tc.left {
			t.Errorf("%s: got %+v, and %s to wait", title, got, left)
		}
	}
}

func TestIdentity(t *testing.T) {
	stamped := operation(t, "1-a")
	if got := ID(stamped); got != "1-a" {
		t.Errorf("got %q", got)
	}
	for _, foreign := range []string{"", "a b", "1-a\tb", "1-", "1-\u0000", "deploy", "1-" + strings.Repeat("a", 65)} {
		if got := ID(operation(t, foreign)); got != "" {
			t.Errorf("%q is taken for an identity of ours: %q", foreign, got)
		}
	}
	again, err := WithID(stamped, "2-b")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"sync": map[string]any{"revision": "abc", "prune": true},
		"info": []any{
			map[string]any{"name": "reason", "value": "because"},
			map[string]any{"name": "apps.open-cluster-management.io/request", "value": "2-b"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{`[]`, `{"info":7}`, `{`} {
		if _, err := WithID([]byte(bad), "x"); err == nil {
			t.Errorf("%s was stamped", bad)
		}
		if ID([]byte(bad)) != "" {
			t.Errorf("%s has an identity", bad)
		}
	}
}

func TestRefresh(t *testing.T) {
	sent := Refresh{Kind: "hard", ID: "first", Since: now}
	changed := Refresh{Kind: apis.RefreshSpecChanged, ID: "first", Since: now}
	tests := map[string]struct {
		memory   Refresh
		kind     string
		answered bool
		at       time.Time
		want     Refresh
		outcome  outcome
		after    time.Duration
	}{
		"none":      {Refresh{}, "", true, now, Refresh{}, waiting, 0},
		"asked for": {Refresh{}, "hard", false, now, Refresh{Kind: "hard", ID: "new", Since: now}, waiting, RefreshDeadline},
		"asked for, with the answer to an earlier one": {
			Refresh{}, "hard", true, now, Refresh{Kind: "hard", ID: "new", Since: now}, waiting, RefreshDeadline},
		"sent":      {sent, "hard", false, now.Add(time.Second), sent, waiting, RefreshDeadline - time.Second},
		"done":      {sent, "hard", true, now.Add(time.Second), sent, done, 0},
		"done late": {sent, "hard", true, now.Add(time.Hour), sent, done, 0},
		"timed out": {sent, "hard", false, now.Add(RefreshDeadline), sent, timedOut, 0},
		"of a change": {Refresh{}, changed.Kind, false, now,
			Refresh{Kind: changed.Kind, ID: "new", Since: now}, waiting, ChangeDeadline},
		"of a change, sent":      {changed, changed.Kind, false, now.Add(time.Second), changed, waiting, ChangeDeadline - time.Second},
		"of a change, late":      {changed, changed.Kind, false, now.Add(ChangeDeadline), changed, late, 0},
		"of a change, done late": {changed, changed.Kind, true, now.Add(time.Hour), changed, done, 0},
		"hub is done":            {sent, "", true, now.Add(time.Second), Refresh{}, waiting, 0},
		"other kind": {sent, "normal", true, now,
			Refresh{Kind: "normal", ID: "new", Since: now}, waiting, RefreshDeadline},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			got, outcome, after := tc.memory.next(tc.kind, "new", tc.answered, tc.at)
			if diff := cmp.Diff(tc.want, got); diff != "" || outcome != tc.outcome {
				t.Errorf("outcome %d, want %d (-want +got):\n%s", outcome, tc.outcome, diff)
			}
			if after != tc.after {
				t.Errorf("look again after %s, want %s", after, tc.after)
			}
			if back := ParseRefresh(got.String()); !cmp.Equal(back, got) {
				t.Errorf("%+v is remembered as %+v", got, back)
			}
		})
	}
	for _, bad := range []string{"", "x", "a b c", "a b c d"} {
		if got := ParseRefresh(bad); got != (Refresh{}) {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
}
