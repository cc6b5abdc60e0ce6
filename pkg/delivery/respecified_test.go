package delivery

import (
	"strings"
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

const (
	specBefore = `{"destination":{"namespace":"a"},"source":{"path":"one","repoURL":"r"}}`
	specAfter  = `{"destination":{"namespace":"a"},"source":{"path":"two","repoURL":"r"}}`
)

// TestRespecified: before a changed spec is sent, a Synced Application loses this status on the hub, until the
// cluster has compared the change.
func TestRespecified(t *testing.T) {
	const compared = "2026-01-01T00:10:00Z"
	shows := func(sync, spec string) *fixture.ApplicationBuilder {
		b := app().Spec(spec).Reconciled(compared)
		status := b.Obj().Status
		status.Sync = &argocd.Sync{Status: sync}
		return b.Status(status)
	}
	changed := func(sync, spec string) *fixture.ApplicationBuilder {
		return shows(sync, spec).Annotation(apis.AnnotationRefresh, apis.RefreshSpecChanged)
	}
	carries := func(spec string, r relay.Refresh) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			of, err := work.Render(app().Spec(spec).Obj(), work.Requests{Stored: relay.Stored{Refresh: r, Uncompared: r.Kind != ""}, Volatile: r.Kind != ""})
			if err != nil {
				t.Fatal(err)
			}
			w.Annotations, w.Spec = of.Annotations, of.Spec
			reports("Healthy", "refreshRequest", r.ID, "reconciledAt", compared, "syncStatus", "Synced", "resourceVersion", "5")(w)
		}
	}
	sent := relay.Refresh{Kind: apis.RefreshSpecChanged, ID: "r1", Since: now.Add(-time.Minute)}
	none := relay.Refresh{}
	pendingFor := func(age time.Duration) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			before := sent
			before.Since = now.Add(-age)
			carries(specAfter, before)(w)
			values := &w.Status.ResourceStatus.Manifests[0].StatusFeedbacks.Values
			kind := apis.RefreshSpecChanged
			*values = append(*values, workv1.FeedbackValue{Name: "refreshPending", Value: workv1.FieldValue{Type: workv1.String, String: &kind}})
		}
	}
	pending := pendingFor(time.Minute)
	told := "the Application has changed, and cluster cluster1 has not compared the new form, although Towline has requested a comparison since " +
		now.Add(-time.Hour).UTC().Format(time.RFC3339) + ": is the cluster available, and does the application controller of its Argo CD run?"
	decides(t, map[string]row{
		"synced":      {is: of(shows("Synced", specAfter)).own(t, carries(specBefore, none)), want: []string{"hub: refresh spec-changed"}},
		"out of sync": {is: of(shows("OutOfSync", specAfter)).own(t, carries(specBefore, none)), want: []string{"update cluster1"}},
		// A sync may have ended on the cluster that the hub does not show yet. The cluster then reports Synced, for
		// the earlier spec.
		"out of sync, of a set": {
			is: of(shows("OutOfSync", specAfter).ApplicationSet("set")).own(t, carries(specBefore, none)), want: []string{"hub: refresh spec-changed"}},
		"nothing that is deployed": {is: of(shows("Synced", specBefore)).own(t, carries(specBefore, none)), want: []string{}},
		"asked for": {
			is: of(changed("Unknown", specAfter)).own(t, carries(specBefore, none)), want: []string{"update cluster1", "after 5m0s"}},
		"on its way":              {is: of(changed("Unknown", specAfter)).own(t, pending), want: []string{"after 4m0s"}},
		"on its way for too long": {is: of(changed("Unknown", specAfter)).own(t, pendingFor(time.Hour)), want: []string{"hub: conditions go"}},
		"on its way for too long, and it is told": {
			is: of(changed("Unknown", specAfter).Condition(apis.ConditionRefreshWarning, told)).own(t, pendingFor(time.Hour)), want: []string{}},
		"on its way for too long, and it is told of the cluster before": {
			is: of(changed("Unknown", specAfter).Condition(apis.ConditionRefreshWarning, strings.Replace(told, "cluster1", "cluster2", 1))).
				own(t, pendingFor(time.Hour)),
			want: []string{"hub: conditions go"}},
		"on its way for too long, and a refresh of a person was before": {
			is:   of(shows("Synced", specAfter).Condition(apis.ConditionRefreshWarning, "old")).own(t, carries(specBefore, none)),
			want: []string{"hub: refresh spec-changed", "hub: conditions go"}},
		"answered too late": {
			is:   of(changed("Unknown", specAfter).Condition(apis.ConditionRefreshWarning, "told")).own(t, carries(specAfter, sent)),
			want: []string{"update cluster1", "hub: no refresh", "hub: conditions go"}},
		"answered": {is: of(changed("Unknown", specAfter)).own(t, carries(specAfter, sent)), want: []string{"update cluster1", "hub: no refresh"}},
		"answered, to an earlier one": {
			is: of(changed("Unknown", specAfter)).own(t, carries(specAfter, sent),
				reports("Healthy", "refreshRequest", "r0", "reconciledAt", compared, "syncStatus", "Synced")),
			want: []string{"after 4m0s"}},
		"answered, and changed again": {
			is: of(changed("Unknown", specAfter)).own(t, carries(specBefore, sent)), want: []string{"update cluster1", "after 5m0s"}},
		"withdrawn by a person": {is: of(shows("Unknown", specAfter)).own(t, carries(specAfter, sent)), want: []string{"update cluster1"}},
		"with a refresh of a person": {
			is:   of(shows("Synced", specAfter).Annotation(apis.AnnotationRefresh, "hard")).own(t, carries(specBefore, none)),
			want: []string{"update cluster1", "after 1m0s"}},
		"with a refresh of a person, and changed before": {
			is: of(shows("Unknown", specAfter).Annotation(apis.AnnotationRefresh, "hard")).own(t, pending), want: []string{"update cluster1", "after 1m0s"}},
		"withdrawn by a person, and not answered": {
			is: of(shows("Unknown", specAfter)).own(t, pending), want: []string{"hub: refresh spec-changed"}},
		"with an operation": {
			is:   of(changed("Unknown", specAfter).Operation(asked1)).own(t, carries(specBefore, none)),
			want: []string{"update cluster1", "after 5m0s"}},
		"not sent": {
			is:   of(changed("Unknown", specAfter)).own(t, carries(specBefore, none)).cluster("cluster1", missingCluster),
			want: []string{"PropagationError ClusterNotFound"}},
		"paused": {
			is:   of(changed("Unknown", specAfter)).own(t, carries(specBefore, none)).cluster("cluster1", pausedCluster),
			want: []string{"PausedWarning Paused"}},
	})
}

// TestAnOperationRunsWithTheSpecOfTheHub: a sync requested together with a change of the spec waits until the cluster
// has the change.
func TestAnOperationRunsWithTheSpecOfTheHub(t *testing.T) {
	version := reports("Healthy", "resourceVersion", "5", "syncStatus", "OutOfSync")
	carries := func(spec string) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) {
			of, err := work.Render(app().Spec(spec).Obj(), work.Requests{Volatile: true})
			if err != nil {
				t.Fatal(err)
			}
			w.Spec = of.Spec
			version(w)
		}
	}
	for spec, carriesOperation := range map[string]bool{specBefore: false, specAfter: true} {
		is := of(app().Spec(specAfter).Operation(asked1)).own(t, carries(spec))
		plan := Decide(is.Facts, is.Options)
		if len(plan.Steps) != 1 {
			t.Fatalf("%v", outline(&plan))
		}
		if _, whole := work.Carried(plan.Steps[0].Work); whole == carriesOperation {
			t.Errorf("the work has %s, and goes on with the Application: %v", spec, whole)
		}
	}
}
