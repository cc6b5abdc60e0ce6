package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/report"
)

func TestObserve(t *testing.T) {
	plain := fixture.Application("guestbook").Obj()
	row := func(edit func(*v1alpha1.ClusterCondition)) v1alpha1.ClusterCondition {
		r := v1alpha1.ClusterCondition{Cluster: "cluster1", App: "argocd/guestbook/cluster1/guestbook-4a491", Source: "feedback"}
		edit(&r)
		return r
	}
	healthy := report.Observe(plain, seen("Healthy", "Synced").Revision("a").Operation("Succeeded", "").
		Resource("apps/v1/Deployment/x/y", "Synced", "Healthy").Condition("OrphanedResourceWarning", "w").Obj(), "", nil)
	degraded := report.Observe(plain, seen("Degraded", "Synced").Degraded("Deployment", "ui", "no progress").Obj(), "", nil)
	second := report.Observe(plain, seen("Missing", "OutOfSync").Retries(2, "no rights. Retrying attempt #2 at 3:05PM.").Obj(), "", nil)
	retried := report.Observe(plain, seen("Missing", "OutOfSync").Retries(1, "no rights. Retrying attempt #1 at 3:04PM.").Obj(), "", nil)
	unhydrated := report.Observe(plain, seen("Healthy", "Synced").Condition("HydrationError", "no path").Obj(), "", nil)
	hydrates := func(f *observed.Facts) *observed.Facts {
		f.Hydrating = true
		return f
	}
	if diff := cmp.Diff(retried.Row, second.Row); diff != "" {
		t.Errorf("each attempt writes the row (-first +second):\n%s", diff)
	}
	tests := map[string]struct {
		app         *fixture.ApplicationBuilder
		seen        *observed.Facts
		unreachable string
		before      *report.Entry
		want        v1alpha1.ClusterCondition
	}{
		"nothing known": {want: row(func(r *v1alpha1.ClusterCondition) { r.Source = "" })},
		"nothing known any more": {
			before: &healthy, want: healthy.Row,
		},
		"nothing known of the new Application of the name": {
			app: fixture.Application("guestbook").UID("other-uid"), before: &healthy,
			want: v1alpha1.ClusterCondition{Cluster: "cluster1", App: "argocd/guestbook/cluster1/guestbook-other"},
		},
		"partial": {
			seen: seen("Degraded", "").Partial().Obj(), before: &healthy,
			want: func() v1alpha1.ClusterCondition { r := healthy.Row; r.HealthStatus = "Degraded"; return r }(),
		},
		"partial without a revision": {
			seen: seen("Healthy", "Synced").Partial().Obj(), before: &healthy, want: healthy.Row,
		},
		"partial, of another state": {
			seen: seen("Healthy", "OutOfSync").Partial().Obj(), before: &healthy,
			want: func() v1alpha1.ClusterCondition {
				r := healthy.Row
				r.SyncStatus, r.SyncRevision = "OutOfSync", ""
				return r
			}(),
		},
		"complete without operation and conditions": {
			seen: seen("Healthy", "Synced").Revision("a").Obj(), before: &healthy,
			want: func() v1alpha1.ClusterCondition {
				r := healthy.Row
				r.OperationStatePhase, r.OperationStateStartedAt, r.Conditions = "", "", nil
				return r
			}(),
		},
		"failed operation": {
			seen: seen("Missing", "OutOfSync").Operation("Failed", "no rights").Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus, r.SyncStatus, r.OperationStatePhase, r.OperationStateStartedAt = "Missing", "OutOfSync", "Failed", "2026-01-02T03:04:05Z"
				r.Conditions = []v1alpha1.Condition{{Type: "OperationError", Message: "no rights"}}
			}),
		},
		"an operation that failed and is tried again": {
			seen: seen("Missing", "OutOfSync").Retries(1, "no rights. Retrying attempt #1 at 3:04PM.").Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus, r.SyncStatus, r.OperationStatePhase, r.OperationStateStartedAt = "Missing", "OutOfSync", "Running", "2026-01-02T03:04:05Z"
				r.Conditions = []v1alpha1.Condition{{Type: "OperationError", Message: "no rights. Argo CD tries it again."}}
			}),
		},
		"an operation that is being tried again": {
			seen: seen("Missing", "OutOfSync").Retries(1, "Retrying operation. Attempt #1").Obj(), before: &retried, want: retried.Row,
		},
		"another operation that is being tried again": {
			seen: seen("Missing", "OutOfSync").Retries(1, "Retrying operation. Attempt #1").Started("2026-01-02T03:04:06Z").Obj(), before: &retried,
			want: func() v1alpha1.ClusterCondition {
				r := retried.Row
				r.OperationStateStartedAt = "2026-01-02T03:04:06Z"
				r.Conditions = []v1alpha1.Condition{{Type: "OperationError", Message: "Retrying operation. Attempt #1"}}
				return r
			}(),
		},
		"an operation that was tried again and went well": {
			seen: seen("Healthy", "Synced").Operation("Succeeded", "all tasks run").Obj(), before: &retried,
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus, r.SyncStatus, r.OperationStatePhase, r.OperationStateStartedAt = "Healthy", "Synced", "Succeeded", "2026-01-02T03:04:05Z"
			}),
		},
		"an operation that runs for the first time": {
			seen: seen("Progressing", "OutOfSync").Operation("Running", "waiting for healthy state of apps/Deployment/ui").Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus, r.SyncStatus, r.OperationStatePhase, r.OperationStateStartedAt = "Progressing", "OutOfSync", "Running", "2026-01-02T03:04:05Z"
			}),
		},
		"a hydration that failed and is tried again": {
			seen: hydrates(seen("Healthy", "Synced").Obj()), before: &unhydrated, want: unhydrated.Row,
		},
		"a hydration that was tried again and went well": {
			seen: seen("Healthy", "Synced").Obj(), before: &unhydrated,
			want: row(func(r *v1alpha1.ClusterCondition) { r.HealthStatus, r.SyncStatus = "Healthy", "Synced" }),
		},
		"degraded, with the resource that feedback tells of": {
			seen: seen("Degraded", "Synced").Degraded("Deployment", "ui", "no progress").Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus, r.SyncStatus = "Degraded", "Synced"
				r.Conditions = []v1alpha1.Condition{{Type: "ResourcesDegradedWarning", Message: "Deployment ui: no progress"}}
			}),
		},
		"degraded, as far as could be read": {
			seen: seen("Degraded", "").Partial().Obj(), before: &degraded, want: degraded.Row,
		},
		"not degraded any more, as far as could be read": {
			seen: seen("Healthy", "").Partial().Obj(), before: &degraded,
			want: func() v1alpha1.ClusterCondition {
				r := degraded.Row
				r.HealthStatus, r.Conditions = "Healthy", nil
				return r
			}(),
		},
		"failed operation that Argo CD tells of": {
			seen: seen("Missing", "").Operation("Error", "no rights").Condition("SyncError", "no rights").Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus, r.OperationStatePhase, r.OperationStateStartedAt = "Missing", "Error", "2026-01-02T03:04:05Z"
				r.Conditions = []v1alpha1.Condition{{Type: "SyncError", Message: "no rights"}}
			}),
		},
		"what the hub knows": {
			app: fixture.Application("guestbook").Condition(apis.ConditionPropagationError, "no such cluster").
				Condition(apis.ConditionWorkApplyError, "no CRD").Condition("SyncError", "of the status controller").
				Condition(apis.ConditionDependencyError, "no such Secret").Condition(apis.ConditionRefreshWarning, "no answer").
				Condition(apis.ConditionClusterUnreachableWarning, "of an hour ago"),
			unreachable: "since noon",
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.Source = ""
				r.Conditions = []v1alpha1.Condition{
					{Type: "ClusterUnreachable", Message: "since noon"},
					{Type: "DependencyError", Message: "no such Secret"},
					{Type: "ManifestWorkApplyError", Message: "no CRD"},
					{Type: "PropagationError", Message: "no such cluster"},
				}
			}),
		},
		"a cluster that plays the hub": {
			seen: seen("Healthy", "").Condition(apis.ConditionPropagationError, "x").Condition(apis.ConditionClusterUnreachable, "y").
				Condition(apis.ConditionClusterUnreachableWarning, "z").Condition(apis.ConditionDependencyError, "a").
				Condition(apis.ConditionRefreshWarning, "b").Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) { r.HealthStatus = "Healthy" }),
		},
		"a cluster with a long message": {
			seen: seen("Healthy", "").Condition("SyncError", strings.Repeat("x", 5000)).Obj(),
			want: row(func(r *v1alpha1.ClusterCondition) {
				r.HealthStatus = "Healthy"
				r.Conditions = []v1alpha1.Condition{{Type: "SyncError", Message: strings.Repeat("x", 1021) + "…"}}
			}),
		},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if tc.app == nil {
				tc.app = fixture.Application("guestbook")
			}
			got := report.Observe(tc.app.Obj(), tc.seen, tc.unreachable, tc.before).Row
			if len(got.Conditions) == 0 {
				got.Conditions = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPutOfTheSameState checks that a new time or source alone is no change, and keeps the time of the first
// observation.
func TestPutOfTheSameState(t *testing.T) {
	s := report.NewSet(nil)
	a := app("cluster1").Obj()
	key := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	if !put(s, a, seen("Healthy", "Synced").By("agent", 1).Obj(), "") {
		t.Error("the first is no change")
	}
	if put(s, a, seen("Healthy", "Synced").By("search", 2).Obj(), "") {
		t.Error("a later sight of the same is a change")
	}
	if got := s.Get(key).Row; got.Source != "agent" || got.ObservedAt.Unix() != 1 {
		t.Errorf("got %+v", got)
	}
	if !put(s, a, seen("Degraded", "Synced").By("search", 3).Obj(), "") || s.Get(key).Row.ObservedAt.Unix() != 3 {
		t.Error("a change is none")
	}
	if !s.Delete(key) || s.Delete(key) || s.Len() != 0 {
		t.Error("Delete")
	}
}

// TestPutAfterARestart checks that the published row stays after an equal, newer observation.
func TestPutAfterARestart(t *testing.T) {
	a := app("cluster1").Obj()
	published := report.Observe(a, seen("Healthy", "Synced").By("agent", 1).Obj(), "", nil)
	again := report.Observe(a, seen("Healthy", "Synced").By("agent", 2).Obj(), "", &report.Entry{Row: published.Row})
	if diff := cmp.Diff(published.Row, again.Row); diff != "" {
		t.Errorf("the report would be written for a time alone (-want +got):\n%s", diff)
	}
}

// TestKeptResources checks that the resources of the report before a restart stay until all their possible Applications
// are observed.
func TestKeptResources(t *testing.T) {
	first := report.NewSet(nil)
	one, two := app("cluster1").Obj(), app("cluster2").Obj()
	put(first, one, seen("Healthy", "Synced").Resource("apps/v1/Deployment/x/one", "Synced", "Healthy").Obj(), "")
	put(first, two, seen("Healthy", "Synced").Resource("apps/v1/Deployment/x/two", "Synced", "Healthy").Obj(), "")
	before := build(first)

	second := report.NewSet(before.Statuses.Resources)
	for i, a := range []*fixture.ApplicationBuilder{app("cluster1"), app("cluster2")} {
		key := types.NamespacedName{Namespace: a.Obj().Namespace, Name: a.Obj().Name}
		second.Put(key, report.Observe(a.Obj(), seen("Healthy", "Synced").Obj(), "", &report.Entry{Row: before.Statuses.ClusterConditions[i]}))
	}
	if after := build(second); !report.Equal(before, after) {
		t.Errorf("a restart has changed the report:\n%s", cmp.Diff(before, after))
	}
	put(second, one, seen("Healthy", "Synced").Resource("apps/v1/Deployment/x/new", "Synced", "Healthy").Obj(), "")
	if got := len(build(second).Statuses.Resources); got != 3 {
		t.Errorf("got %d resources, want the new one and both of those that cluster2 may have", got)
	}
	put(second, two, seen("Healthy", "Synced").Resource("apps/v1/Deployment/x/two", "Synced", "Healthy").Obj(), "")
	if got := len(build(second).Statuses.Resources); got != 2 {
		t.Errorf("got %d resources, want one of each", got)
	}
}

// TestKeptFailures checks that the failures of an earlier report stay until all their possible Applications are
// observed.
func TestKeptFailures(t *testing.T) {
	first := report.NewSet(nil)
	const service = "/v1/Service/x/ui"
	failing := seen("Missing", "OutOfSync").Resource(service, "OutOfSync", "Missing").SyncFailed(service, "no rights").Obj()
	put(first, app("cluster1").Obj(), failing, "")
	put(first, app("cluster2").Obj(), failing, "")
	before := build(first)

	second := report.NewSet(before.Statuses.Resources)
	for i, a := range []*fixture.ApplicationBuilder{app("cluster1"), app("cluster2")} {
		key := types.NamespacedName{Namespace: a.Obj().Namespace, Name: a.Obj().Name}
		feedback := seen("Missing", "OutOfSync").Operation("Failed", "one or more objects failed to apply").Obj()
		second.Put(key, report.Observe(a.Obj(), feedback, "", &report.Entry{Row: before.Statuses.ClusterConditions[i]}))
	}
	if after := build(second); !report.Equal(before, after) {
		t.Errorf("a restart has changed the report:\n%s", cmp.Diff(before, after))
	}
	put(second, app("cluster1").Obj(), seen("Healthy", "Synced").Resource(service, "Synced", "Healthy").Obj(), "")
	if got := build(second).Statuses.Resources; got[0].Failing != 1 || len(got[0].Failures) != 1 || got[0].Failures[0].Cluster != "cluster2" {
		t.Errorf("mended on cluster1, while nothing has been heard of cluster2: %+v", got)
	}
	put(second, app("cluster2").Obj(), failing, "")
	if got := build(second).Statuses.Resources; len(got) != 1 || got[0].Failing != 1 || got[0].Failures[0].Cluster != "cluster2" {
		t.Errorf("got %+v", got)
	}
}

func TestLabelValue(t *testing.T) {
	long := strings.Repeat("a", 63)
	pairs := []types.NamespacedName{
		{Namespace: "argocd", Name: "guestbook-app-set"},
		{Namespace: "a", Name: "b.c"}, {Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b-c"},
		{Namespace: long, Name: "x"}, {Namespace: long, Name: "y"}, {Namespace: "x", Name: long},
		{Namespace: long, Name: strings.Repeat("b.", 126) + "b"},
		{Namespace: strings.Repeat("a", 40), Name: "-." + long}, {Namespace: strings.Repeat("a", 41), Name: "." + long},
	}
	for i := range 100 {
		pairs = append(pairs, types.NamespacedName{Namespace: long[:40], Name: fmt.Sprintf("%s-%d", long, i)})
	}
	taken := map[string]types.NamespacedName{}
	for _, p := range pairs {
		v := report.LabelValue(p)
		if errs := validation.IsValidLabelValue(v); len(errs) > 0 || v == "" {
			t.Errorf("%s: %q: %v", p, v, errs)
		}
		if other, ok := taken[v]; ok {
			t.Errorf("%s and %s are both %q", p, other, v)
		}
		taken[v] = p
	}
	if got := report.LabelValue(pairs[0]); got != "argocd.guestbook-app-set" {
		t.Errorf("got %q", got)
	}
}
