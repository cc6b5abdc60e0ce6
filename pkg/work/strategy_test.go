package work_test

import (
	"crypto/md5"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// ignores reports whether the agent applies a manifest once for each change of its text.
func ignores(w *workv1.ManifestWork) bool {
	return len(w.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply.IgnoreFields) > 0
}

// TestApplied: the agent applies an Application at each check, so that no edit on the cluster lasts. The agent
// applies a request once.
func TestApplied(t *testing.T) {
	app := fixture.Application("guestbook").Obj()
	refresh := work.Requests{Stored: relay.Stored{Refresh: relay.Refresh{Kind: "hard", ID: "one", Since: time.Unix(1_700_000_000, 0)}}}
	asked := work.Requests{Stored: relay.Stored{Last: relay.Sent{State: relay.OnItsWay, ID: "1-a", Version: "7"}}}
	for title, tc := range map[string]struct {
		requests work.Requests
		carry    *work.Request
		once     bool
	}{
		"an Application": {},
		"a refresh":      {requests: refresh, once: true},
		"an operation":   {asked, &work.Request{Operation: json.RawMessage(`{"sync":{}}`), Version: "7"}, true},
		"a termination":  {asked, &work.Request{Version: "7"}, true},
	} {
		w, err := work.Render(app, tc.requests)
		if err == nil && tc.carry != nil {
			err = work.Carry(w, app, *tc.carry)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ignores(w) != tc.once {
			t.Errorf("%s: once: %t", title, ignores(w))
		}
		off := w.DeepCopy()
		off.Spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly}
		if on := work.Enabled(off); !work.SameSpec(&on.Spec, &w.Spec) {
			t.Errorf("%s: disabled and enabled, it is %+v", title, on.Spec.ManifestConfigs[0].UpdateStrategy.ServerSideApply)
		}
	}
}

// TestTextsDiffer: for a refresh, the agent compares the text of a manifest as printed by Go. A change of only a type
// or of a list changes the text.
func TestTextsDiffer(t *testing.T) {
	text := func(spec string) string {
		app := fixture.Application("guestbook").Obj()
		app.Spec.Raw = []byte(spec)
		w, err := work.Render(app, work.Requests{Stored: relay.Stored{Refresh: relay.Refresh{Kind: "hard", ID: "one", Since: time.Unix(1_700_000_000, 0)}}})
		if err != nil {
			t.Fatal(err)
		}
		var o unstructured.Unstructured
		if err := o.UnmarshalJSON(w.Spec.Workload.Manifests[0].Raw); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", md5.Sum(fmt.Appendf(nil, "%v", &o)))
	}
	for _, pair := range [][2]string{
		{`{"source":{"helm":{"valuesObject":{"on":"true"}}}}`, `{"source":{"helm":{"valuesObject":{"on":true}}}}`},
		{`{"syncPolicy":{"syncOptions":["A=true B=true"]}}`, `{"syncPolicy":{"syncOptions":["A=true","B=true"]}}`},
	} {
		if text(pair[0]) == text(pair[1]) {
			t.Errorf("the same text: %s and %s", pair[0], pair[1])
		}
	}
}

// TestWithoutConfiguration: a work without a configuration has the agent's default for the Application in the work, and
// asks the agent nothing.
func TestWithoutConfiguration(t *testing.T) {
	w := render(t, fixture.Application("guestbook"))
	want := work.Resource(w)
	w.Spec.ManifestConfigs = nil
	if got := work.Resource(w); got != want || work.UpdateModeOf(w) != work.ForceApply {
		t.Errorf("%+v, mode %d", got, work.UpdateModeOf(w))
	}
	if work.IsReadOnly(w) || work.SetsBack(w) || work.AsksOrigin(w) || work.AsksCompared(w) || work.Polled(w) || work.Watches(w) != "" {
		t.Error("a configuration is assumed")
	}
	if got := work.Resource(&workv1.ManifestWork{}); got != (workv1.ResourceIdentifier{}) {
		t.Errorf("an empty work names %+v", got)
	}
}
