package relay_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/relay"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// operation is an operation with an identity, or without one for an empty id.
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
	soon, late := now.Add(time.Second), now.Add(5*time.Minute)
	after := now.Add(2 * time.Minute).Format(time.RFC3339)
	before := now.Add(-time.Minute).Format(time.RFC3339)
	type op = relay.Operation
	tests := map[string]struct {
		op   op
		at   time.Time
		want relay.Action
	}{
		"nothing asked for":                {op{}, soon, relay.None},
		"asked for":                        {op{Wanted: operation(t, "")}, soon, relay.Stamp},
		"asked for while another runs":     {op{Wanted: operation(t, ""), Busy: true}, soon, relay.None},
		"stamped":                          {op{Wanted: operation(t, first)}, soon, relay.Send},
		"stamped, another began meanwhile": {op{Wanted: operation(t, first), Busy: true, Taken: "x"}, soon, relay.Send},
		"sent":                             {op{Wanted: operation(t, first), Sent: operation(t, first)}, soon, relay.Hold},
		"sent, waits there": {
			op{Wanted: operation(t, first), Sent: operation(t, first), Pending: first, Applied: true}, late, relay.Hold},
		"sent, not applied for long": {op{Wanted: operation(t, first), Sent: operation(t, first)}, late, relay.Hold},
		"taken, runs": {
			op{Wanted: operation(t, first), Sent: operation(t, first), Taken: first, Busy: true}, soon, relay.Clear},
		"taken, already over": {op{Wanted: operation(t, first), Sent: operation(t, first), Taken: first}, soon, relay.Clear},
		"cleared, runs":       {op{Sent: operation(t, first), Taken: first, Busy: true}, soon, relay.Hold},
		"cleared, over":       {op{Sent: operation(t, first), Taken: first}, soon, relay.None},
		"cleared, runs, asked for again": {
			op{Wanted: operation(t, ""), Sent: operation(t, first), Taken: first, Busy: true}, soon, relay.Clear},
		"cleared, runs, next asked for": {
			op{Wanted: []byte(`{"sync":{}}`), Sent: operation(t, first), Taken: first, Busy: true}, soon, relay.Hold},
		"cleared, over, next asked for": {op{Wanted: operation(t, ""), Sent: operation(t, first), Taken: first}, soon, relay.Stamp},
		"next stamped, first over":      {op{Wanted: operation(t, second), Sent: operation(t, first), Taken: first}, soon, relay.Send},
		"withdrawn before it was taken": {op{Sent: operation(t, first)}, soon, relay.None},
		"overwritten": {
			op{Wanted: operation(t, first), Sent: operation(t, first), Taken: "x", Applied: true, FinishedAt: after}, late, relay.Stamp},
		"overwritten, perhaps": {
			op{Wanted: operation(t, first), Sent: operation(t, first), Taken: "x", Applied: true, FinishedAt: after}, soon, relay.Hold},
		"another ended before it was sent": {
			op{Wanted: operation(t, first), Sent: operation(t, first), Taken: "x", Applied: true, FinishedAt: before}, late, relay.Hold},
		"another runs where it was applied": {
			op{Wanted: operation(t, first), Sent: operation(t, first), Taken: "x", Applied: true, Busy: true}, late, relay.Hold},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if got := tc.op.Next(tc.at); got != tc.want {
				t.Errorf("got action %d, want %d", got, tc.want)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	stamped := operation(t, "1-a")
	if got := relay.ID(stamped); got != "1-a" {
		t.Errorf("got %q", got)
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
	sent := relay.Refresh{Kind: "hard", Before: "2026-01-02T03:00:00Z", Since: now}
	tests := map[string]struct {
		memory       relay.Refresh
		kind         string
		reconciledAt string
		at           time.Time
		want         relay.Refresh
		outcome      relay.Outcome
	}{
		"none":        {relay.Refresh{}, "", "x", now, relay.Refresh{}, relay.Waiting},
		"asked for":   {relay.Refresh{}, "hard", "2026-01-02T03:00:00Z", now, sent, relay.Waiting},
		"sent":        {sent, "hard", "2026-01-02T03:00:00Z", now.Add(time.Second), sent, relay.Waiting},
		"done":        {sent, "hard", "2026-01-02T03:04:06Z", now.Add(time.Second), sent, relay.Done},
		"timed out":   {sent, "hard", "2026-01-02T03:00:00Z", now.Add(relay.RefreshDeadline), sent, relay.TimedOut},
		"hub is done": {sent, "", "2026-01-02T03:04:06Z", now.Add(time.Second), relay.Refresh{}, relay.Waiting},
		"other kind":  {sent, "normal", "2026-01-02T03:00:00Z", now, relay.Refresh{Kind: "normal", Before: sent.Before, Since: now}, relay.Waiting},
		"never before": {
			relay.Refresh{Kind: "normal", Since: now}, "normal", "2026-01-02T03:04:06Z", now,
			relay.Refresh{Kind: "normal", Since: now}, relay.Done},
		"odd kind": {relay.Refresh{}, "a b", "", now, relay.Refresh{Kind: "normal", Since: now}, relay.Waiting},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			got, outcome := tc.memory.Next(tc.kind, tc.reconciledAt, tc.at)
			if diff := cmp.Diff(tc.want, got); diff != "" || outcome != tc.outcome {
				t.Errorf("outcome %d, want %d (-want +got):\n%s", outcome, tc.outcome, diff)
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
