package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestLate: the Application shows since when Towline has asked the cluster for the comparison of a change.
func TestLate(t *testing.T) {
	app := fixture.Application("guestbook").Cluster("cluster1").Annotation(apis.AnnotationRefresh, apis.RefreshSpecChanged).Obj()
	sent := relay.Stored{Refresh: relay.Refresh{Kind: apis.RefreshSpecChanged, ID: "r1", Since: now}, Uncompared: true}
	got := relay.Decide(relay.Facts{Now: now.Add(time.Hour), App: app, Work: &relay.Work{Stored: sent}, Seen: &feedback.Observation{}})
	want := "cluster cluster1 has not compared the new form, although Towline has requested a comparison since " + now.UTC().Format(time.RFC3339)
	if got.Warning == nil || !strings.Contains(*got.Warning, want) || got.RefreshEnds || got.Refresh != sent.Refresh {
		t.Errorf("got %+v, want the warning %q", got, want)
	}
}

// TestChangedAt: the work of a set's Application stores the revision at the change of the spec, until the Application
// is synced or has another revision.
func TestChangedAt(t *testing.T) {
	app := func() *fixture.ApplicationBuilder { return fixture.Application("guestbook") }
	ofSet := func() *fixture.ApplicationBuilder { return app().ApplicationSet("set") }
	reports := func(sync, revision string) *argocd.Sync { return &argocd.Sync{Status: sync, Revision: revision} }
	for title, tc := range map[string]struct {
		app         *fixture.ApplicationBuilder
		before      string
		respecified bool
		uncompared  bool
		there       *argocd.Sync
		want        string
	}{
		"changed":                      {ofSet(), "", true, false, reports("Synced", "a"), "a"},
		"changed, standalone":          {app(), "", true, false, reports("Synced", "a"), ""},
		"nothing reported":             {ofSet(), "", true, false, nil, ""},
		"not compared yet":             {ofSet(), "a", false, true, reports("Synced", "a"), "a"},
		"compared":                     {ofSet(), "a", false, false, reports("OutOfSync", "a"), "a"},
		"compared, without difference": {ofSet(), "a", false, false, reports("Synced", "a"), ""},
		"changed again":                {ofSet(), "a", true, false, reports("OutOfSync", "a"), "a"},
		"a new commit":                 {ofSet(), "a", false, false, reports("OutOfSync", "b"), ""},
		"not heard of for now":         {ofSet(), "a", false, false, nil, "a"},
		"at rest":                      {ofSet(), "", false, false, reports("Synced", "a"), ""},
	} {
		t.Run(title, func(t *testing.T) {
			w := &relay.Work{Stored: relay.Stored{ChangedAt: tc.before, Uncompared: tc.uncompared}, Respecified: tc.respecified}
			seen := &feedback.Observation{Status: argocd.Status{Sync: tc.there}}
			if got := relay.Decide(relay.Facts{Now: now, App: tc.app.Obj(), Work: w, Seen: seen}).ChangedAt; got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
