package relay_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/relay"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// operation returns an operation with the identity id. An empty id gives an operation without identity.
func operation(t *testing.T, id string) []byte {
	t.Helper()
	plain := []byte(`{"sync":{"revision":"abc","prune":true},"info":[{"name":"reason","value":"because"}]}`)
	if id == "" {
		return plain
	}
	out, err := relay.WithID(plain, id)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOperation(t *testing.T) {
	first, second := relay.NewID(now, "first"), relay.NewID(now, "second")
	ready := relay.Cluster{Version: "7", Ready: true}
	there := func(edit func(*relay.Cluster)) relay.Cluster {
		c := ready
		edit(&c)
		return c
	}
	runs := there(func(c *relay.Cluster) { c.Taken, c.Pending, c.Busy = first, first, true })
	over := there(func(c *relay.Cluster) { c.Taken = first })
	others := there(func(c *relay.Cluster) { c.Taken, c.Busy = "x", true })
	memory := func(state relay.State, version string) relay.Sent {
		return relay.Sent{State: state, ID: first, Version: version, Digest: relay.Digest(operation(t, ""))}
	}
	tests := map[string]struct {
		wanted []byte
		sent   relay.Sent
		there  relay.Cluster
		want   relay.Action
	}{
		"no operation":             {nil, relay.Sent{}, ready, relay.None},
		"the rest of a late patch": {[]byte(`{"info":[{"name":"reason","value":"because"}]}`), relay.Sent{}, ready, relay.Drop},
		"the rest of a late patch, while a second operation runs": {[]byte(`{"info":[]}`), relay.Sent{}, others, relay.Drop},
		"empty":            {[]byte(`{}`), relay.Sent{}, relay.Cluster{}, relay.Drop},
		"an invalid shape": {[]byte(`"sync"`), relay.Sent{}, ready, relay.Stamp},
		"asked for":        {operation(t, ""), relay.Sent{}, ready, relay.Stamp},
		"asked for while a second operation runs": {operation(t, ""), relay.Sent{}, others, relay.None},
		"stamped":                           {operation(t, first), relay.Sent{}, ready, relay.Send},
		"stamped, a second operation began": {operation(t, first), relay.Sent{}, others, relay.None},
		"stamped, a second operation waits": {operation(t, first), relay.Sent{},
			there(func(c *relay.Cluster) { c.Pending = second }), relay.None},
		"stamped, the work is not applied": {operation(t, first), relay.Sent{},
			there(func(c *relay.Cluster) { c.Ready = false }), relay.None},
		"stamped, no report of the cluster": {operation(t, first), relay.Sent{}, relay.Cluster{Ready: true}, relay.None},
		"delivered, not seen yet":           {operation(t, first), memory(relay.Delivered, "7"), ready, relay.None},
		"delivered, waits on the cluster": {operation(t, first), memory(relay.Delivered, "6"),
			there(func(c *relay.Cluster) { c.Pending = first }), relay.None},
		"delivered, runs": {operation(t, first), memory(relay.Delivered, "6"), runs, relay.Clear},
		"delivered, over": {operation(t, first), memory(relay.Delivered, "6"), over, relay.Clear},
		"delivered, a second operation has run since": {operation(t, first), memory(relay.Delivered, "6"),
			there(func(c *relay.Cluster) { c.Taken = "x" }), relay.Clear},
		"delivered, a second operation runs since": {operation(t, first), memory(relay.Delivered, "6"), others, relay.None},
		"refused, no new version seen":             {operation(t, first), memory(relay.Refused, "7"), ready, relay.None},
		"refused, a new version seen":              {operation(t, first), memory(relay.Refused, "6"), ready, relay.Send},
		"refused, but the operation runs":          {operation(t, first), memory(relay.Refused, "6"), runs, relay.Clear},
		"runs, and is requested again":             {operation(t, ""), memory(relay.Delivered, "6"), runs, relay.Clear},
		"runs, and a new operation is requested":   {[]byte(`{"sync":{}}`), memory(relay.Delivered, "6"), runs, relay.None},
		"over, and is requested again":             {operation(t, ""), memory(relay.Delivered, "6"), over, relay.Stamp},
		"over, the next stamped":                   {operation(t, second), memory(relay.Delivered, "6"), over, relay.Send},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if got := relay.Operation(tc.wanted, tc.sent, tc.there); got != tc.want {
				t.Errorf("got action %d, want %d", got, tc.want)
			}
		})
	}
}

func TestTerminate(t *testing.T) {
	const start = "2026-01-02T03:04:05Z"
	busy := relay.Cluster{Version: "7", Busy: true, StartedAt: start, Ready: true}
	sent := relay.Sent{State: relay.Delivered, ID: relay.TerminationID(start), Version: "7"}
	unready, idle, other, older := busy, busy, busy, sent
	unready.Ready, idle.Busy, other.StartedAt, older.Version = false, false, "2026-01-02T03:05:00Z", "6"
	for title, tc := range map[string]struct {
		phase string
		sent  relay.Sent
		there relay.Cluster
		want  bool
	}{
		"not asked for":                  {"Running", relay.Sent{}, busy, false},
		"asked for":                      {"Terminating", relay.Sent{}, busy, true},
		"the work is not applied":        {"Terminating", relay.Sent{}, unready, false},
		"the operation is over":          {"Terminating", relay.Sent{}, idle, false},
		"a second operation runs":        {"Terminating", relay.Sent{}, other, false},
		"delivered, no new version seen": {"Terminating", sent, busy, false},
		"delivered, and overwritten":     {"Terminating", older, busy, true},
	} {
		if got := relay.Terminate(&argocd.OperationState{Phase: tc.phase, StartedAt: start}, tc.sent, tc.there); got != tc.want {
			t.Errorf("%s: got %t", title, got)
		}
	}
}

func TestSent(t *testing.T) {
	for _, s := range []relay.Sent{
		{}, {State: relay.OnItsWay, ID: "1-a", Version: "7", Digest: "ab"}, {State: relay.Refused, ID: "x", Version: "7"},
		{State: relay.OnItsWay, ID: "1-a", Version: "7", Digest: "ab", Instead: "cd"},
		{State: relay.Failed, ID: "x", Version: "7", Since: now},
	} {
		if got := relay.ParseSent(s.String()); got != s {
			t.Errorf("%q was read as %+v", s, got)
		}
	}
	for _, bad := range []string{
		"x", "sent a b", "other a b c", "failed a b c", "failed a b c d", "delivered a b c d", "sent a b c d e",
	} {
		if got := relay.ParseSent(bad); got != (relay.Sent{}) {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

// TestRetry checks that a failed request has no version after RetryAfter.
func TestRetry(t *testing.T) {
	failed := relay.Sent{State: relay.Failed, ID: "1-a", Version: "7", Since: now}
	refused := failed
	refused.State = relay.Refused
	for title, tc := range map[string]struct {
		sent    relay.Sent
		at      time.Duration
		version string
		left    time.Duration
	}{
		"just now":   {failed, 0, "7", relay.RetryAfter},
		"not yet":    {failed, relay.RetryAfter - time.Second, "7", time.Second},
		"now":        {failed, relay.RetryAfter, "", 0},
		"long since": {failed, time.Hour, "", 0},
		"not failed": {refused, time.Hour, "7", 0},
		"nothing":    {relay.Sent{}, time.Hour, "", 0},
	} {
		got, left := tc.sent.Retry(now.Add(tc.at))
		if got.Version != tc.version || got.ID != tc.sent.ID || left != tc.left {
			t.Errorf("%s: got %+v, and %s to wait", title, got, left)
		}
	}
}

func TestIdentity(t *testing.T) {
	stamped := operation(t, "1-a")
	if got := relay.ID(stamped); got != "1-a" {
		t.Errorf("got %q", got)
	}
	for _, foreign := range []string{"", "a b", "1-a\tb", "1-", "1-\u0000", "deploy", "1-" + strings.Repeat("a", 65)} {
		if got := relay.ID(operation(t, foreign)); got != "" {
			t.Errorf("%q is taken for an identity of ours: %q", foreign, got)
		}
	}
	again, err := relay.WithID(stamped, "2-b")
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
		if _, err := relay.WithID([]byte(bad), "x"); err == nil {
			t.Errorf("%s was stamped", bad)
		}
		if relay.ID([]byte(bad)) != "" {
			t.Errorf("%s has an identity", bad)
		}
	}
}

func TestRefresh(t *testing.T) {
	sent := relay.Refresh{Kind: "hard", ID: "first", Since: now}
	changed := relay.Refresh{Kind: apis.RefreshSpecChanged, ID: "first", Since: now}
	tests := map[string]struct {
		memory   relay.Refresh
		kind     string
		answered bool
		at       time.Time
		want     relay.Refresh
		outcome  relay.Outcome
		after    time.Duration
	}{
		"none":      {relay.Refresh{}, "", true, now, relay.Refresh{}, relay.Waiting, 0},
		"asked for": {relay.Refresh{}, "hard", false, now, relay.Refresh{Kind: "hard", ID: "new", Since: now}, relay.Waiting, relay.RefreshDeadline},
		"asked for, with the answer to an earlier one": {
			relay.Refresh{}, "hard", true, now, relay.Refresh{Kind: "hard", ID: "new", Since: now}, relay.Waiting, relay.RefreshDeadline},
		"sent":      {sent, "hard", false, now.Add(time.Second), sent, relay.Waiting, relay.RefreshDeadline - time.Second},
		"done":      {sent, "hard", true, now.Add(time.Second), sent, relay.Done, 0},
		"done late": {sent, "hard", true, now.Add(time.Hour), sent, relay.Done, 0},
		"timed out": {sent, "hard", false, now.Add(relay.RefreshDeadline), sent, relay.TimedOut, 0},
		"of a change": {relay.Refresh{}, changed.Kind, false, now,
			relay.Refresh{Kind: changed.Kind, ID: "new", Since: now}, relay.Waiting, relay.ChangeDeadline},
		"of a change, sent":      {changed, changed.Kind, false, now.Add(time.Second), changed, relay.Waiting, relay.ChangeDeadline - time.Second},
		"of a change, late":      {changed, changed.Kind, false, now.Add(relay.ChangeDeadline), changed, relay.Late, 0},
		"of a change, done late": {changed, changed.Kind, true, now.Add(time.Hour), changed, relay.Done, 0},
		"hub is done":            {sent, "", true, now.Add(time.Second), relay.Refresh{}, relay.Waiting, 0},
		"other kind": {sent, "normal", true, now,
			relay.Refresh{Kind: "normal", ID: "new", Since: now}, relay.Waiting, relay.RefreshDeadline},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			got, outcome, after := tc.memory.Next(tc.kind, "new", tc.answered, tc.at)
			if diff := cmp.Diff(tc.want, got); diff != "" || outcome != tc.outcome {
				t.Errorf("outcome %d, want %d (-want +got):\n%s", outcome, tc.outcome, diff)
			}
			if after != tc.after {
				t.Errorf("look again after %s, want %s", after, tc.after)
			}
			if back := relay.ParseRefresh(got.String()); !cmp.Equal(back, got) {
				t.Errorf("%+v is remembered as %+v", got, back)
			}
		})
	}
	for _, bad := range []string{"", "x", "a b c", "a b c d"} {
		if got := relay.ParseRefresh(bad); got != (relay.Refresh{}) {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
}
