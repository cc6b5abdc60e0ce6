package contact_test

import (
	"context"
	"errors"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/component-base/metrics/legacyregistry"
	workv1 "open-cluster-management.io/api/work/v1"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/contact"
	"github.com/towline-io/towline/cmd/towline-maestro/internal/maestrotest"
)

var (
	errAway    = status.Error(codes.Unavailable, "connection refused")
	errStrange = status.Error(codes.Unknown, "token not authenticated")
	errVersion = status.Error(codes.Unknown, "failed to update resource: the resource version is not the latest, the latest version: 3")
)

// value returns the value of a metric for a kind of request. For a metric without kinds, request is "".
func value(t *testing.T, name, request string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if request == "" || m.GetLabel()[0].GetValue() == request {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s for %q", name, request)
	return 0
}

// TestRequests checks which results count as answers, and which results count as failures.
func TestRequests(t *testing.T) {
	ids := bundle.NewIDs("towline", bundle.NewKey())
	event, err := bundle.Event("towline", cetypes.DeleteRequestAction, bundle.New(ids, &workv1.ManifestWork{}, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	ask := map[string]func(context.Context, *contact.Contact) error{
		"write": func(ctx context.Context, c *contact.Contact) error { return c.Publish(ctx, event) },
		"read": func(ctx context.Context, c *contact.Contact) error {
			_, err := c.Get(ctx, "none")
			return err
		},
	}
	for name, tc := range map[string]struct {
		request string
		says    error
		givenUp bool
		fails   bool
	}{
		"a write that is taken":            {"write", nil, false, false},
		"a write of another version":       {"write", errVersion, false, false},
		"a write that does not arrive":     {"write", errAway, false, true},
		"a write of nobody that it knows":  {"write", errStrange, false, true},
		"a write that its author gives up": {"write", errAway, true, false},
		"a work that is not there":         {"read", nil, false, false},
		"a work that cannot be read":       {"read", errAway, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := maestrotest.New()
			c := contact.With(m)
			_ = ask[tc.request](t.Context(), c) // the contact needs a first answer from Maestro
			m.Hook(maestrotest.Hooks{
				BeforePublish: func(cetypes.EventAction) error { return tc.says },
				BeforeGet:     func(string) error { return tc.says },
			})
			before := value(t, "towline_maestro_failures_total", tc.request)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.givenUp {
				cancel()
			}
			if err := ask[tc.request](ctx, c); tc.says != nil && !errors.Is(err, tc.says) {
				t.Errorf("the error is %v", err)
			}
			failed := value(t, "towline_maestro_failures_total", tc.request) > before
			down := value(t, "towline_maestro_answered", tc.request) == 0
			if failed != tc.fails || down != tc.fails || (c.LastError() != nil) != tc.fails {
				t.Errorf("counted as failed: %t, shown as down: %t, the last error: %v", failed, down, c.LastError())
			}
			if tc.fails && !errors.Is(c.LastError(), tc.says) {
				t.Errorf("the last error is %v", c.LastError())
			}
		})
	}
}

// TestLastRead checks that a list of all works or of the changed works sets the metric, and that a failed list does not.
func TestLastRead(t *testing.T) {
	m := maestrotest.New()
	c := contact.With(m)
	last := func() float64 { return value(t, "towline_maestro_last_read_timestamp_seconds", "") }
	list := func(since time.Time) error {
		return c.List(t.Context(), since, func(*bundle.Bundle) {}, func(error) {})
	}
	for _, since := range []time.Time{{}, time.Now()} {
		before := last()
		if err := list(since); err != nil {
			t.Fatal(err)
		}
		if at := last(); at <= before || time.Since(time.Unix(int64(at), 0)) > time.Minute {
			t.Errorf("works were read now, and not at %f", at)
		}
	}
	before := last()
	m.Hook(maestrotest.Hooks{BeforeList: func(time.Time) error { return errStrange }})
	if err := list(time.Time{}); err == nil || last() != before {
		t.Errorf("nothing was read (%v), at %f and at %f", err, before, last())
	}
}

// TestSubscription checks that a subscription refused from the start makes the process not ready. A subscription refused
// after an earlier answer does not.
func TestSubscription(t *testing.T) {
	m := maestrotest.New()
	c := contact.With(m)
	if c.Refused() != nil {
		t.Error("nobody has asked yet")
	}
	m.Hook(maestrotest.Hooks{BeforeSubscribe: func() error { return errStrange }})
	refuse := func(want error) {
		t.Helper()
		if err := c.Subscribe(t.Context(), func(*cloudevents.Event) {}); !errors.Is(err, errStrange) {
			t.Error(err)
		}
		if !errors.Is(c.Refused(), want) || !errors.Is(c.LastError(), errStrange) || value(t, "towline_maestro_answered", "subscribe") != 0 {
			t.Errorf("refused: %v, the last error: %v", c.Refused(), c.LastError())
		}
	}
	refuse(errStrange)
	m.Hook(maestrotest.Hooks{})
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Subscribe(ctx, func(*cloudevents.Event) {
		if c.Refused() != nil || value(t, "towline_maestro_answered", "subscribe") != 1 {
			t.Errorf("it has heard of Maestro, and is refused by it: %v", c.Refused())
		}
		cancel()
	}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	m.Hook(maestrotest.Hooks{BeforeSubscribe: func() error { return errStrange }})
	refuse(nil)
}
