package report_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/report"
)

// forbidden is the error of a cluster whose Argo CD lacks rights in the namespace.
const forbidden = `Failed sync attempt to 53e28ff20cc530b9ada2173fbbd64d48338583ba: one or more objects failed to apply, ` +
	`reason: services is forbidden: User "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller" ` +
	`cannot create resource "services" in API group "" in the namespace "guestbook",deployments.apps is forbidden: ` +
	`User "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller" cannot create resource ` +
	`"deployments" in API group "apps" in the namespace "guestboo...`

// TestThreeClusters builds the example from the introduction of the report: three clusters, and one of the three may
// not deploy.
func TestThreeClusters(t *testing.T) {
	set := types.NamespacedName{Namespace: "openshift-gitops", Name: "guestbook-allclusters-app-set"}
	s := report.NewSet(nil)
	for cluster, seen := range map[string]*observed.Facts{
		"cluster1":  seen("Missing", "OutOfSync").Condition("SyncError", forbidden).Obj(),
		"pcluster1": seen("Progressing", "Synced").Obj(),
		"pcluster2": seen("Progressing", "Synced").Obj(),
	} {
		a := fixture.Application(cluster + "-guestbook-app").Namespace(set.Namespace).ApplicationSet(set.Name).Cluster(cluster).Obj()
		put(s, a, seen, "")
	}
	got := s.Build(set, owner, report.MaxBytes)
	equal(t, "three-clusters", got)
	summary := got.Statuses.Summary
	summary.Applications, summary.Unreachable, summary.NotCompared, summary.Omitted, summary.OmittedResources = "", "", "", "", ""
	want := v1alpha1.ReportSummary{Clusters: "3", Healthy: "0", InProgress: "2", NotHealthy: "3", NotSynced: "1", Synced: "2"}
	if diff := cmp.Diff(want, summary); diff != "" {
		t.Errorf("the counts of the example (-want +got):\n%s", diff)
	}
}

func TestGolden(t *testing.T) {
	tests := map[string]func(*report.Set){
		"two-on-one-cluster": func(s *report.Set) {
			for _, name := range []string{"web", "db"} {
				a := fixture.Application(name).ApplicationSet(guestbook.Name).Cluster("cluster1").Obj()
				put(s, a, seen("Healthy", "Synced").Revision("abc").Operation("Succeeded", "").Obj(), "")
			}
		},
		"everything": func(s *report.Set) {
			put(s, app("green").Obj(), seen("Healthy", "Synced").Revision("abc", "def").Operation("Succeeded", "").
				Resource("apps/v1/Deployment/guestbook/ui", "Synced", "Healthy").
				Resource("/v1/ConfigMap/guestbook/settings", "Synced", "").By("agent", 1_700_000_000).Obj(), "")
			put(s, app("red").Obj(), seen("Degraded", "OutOfSync").Revision("abc").Operation("Failed", "no such image").
				Resource("apps/v1/Deployment/guestbook/ui", "OutOfSync", "Degraded").Message("no progress").
				Resource("/v1/Service/guestbook/ui", "OutOfSync", "Missing").
				SyncFailed("/v1/Service/guestbook/ui", "services is forbidden").By("agent", 1_700_000_001).Obj(), "")
			put(s, app("again").Obj(), seen("Missing", "OutOfSync").Revision("abc").Retries(1, "services is forbidden. Retrying attempt #1").
				Resource("/v1/Service/guestbook/ui", "OutOfSync", "Missing").
				SyncFailed("/v1/Service/guestbook/ui", "services is forbidden").By("agent", 1_700_000_001).Obj(), "")
			put(s, app("silent").Condition(apis.ConditionNotCompared, "nothing compared since noon").Obj(),
				seen("Healthy", "Synced").Revision("abc").Obj(), "")
			put(s, app("dark").Obj(), seen("Healthy", "Synced").Revision("abc").Obj(), "cluster dark has not been available since yesterday")
			put(s, app("").Condition(apis.ConditionPropagationError, "no cluster is named").Obj(), nil, "")
		},
	}
	for title, fill := range tests {
		t.Run(title, func(t *testing.T) {
			s := report.NewSet(nil)
			fill(s)
			equal(t, title, build(s))
		})
	}
}

// TestSameSetSameReport checks that the report depends neither on the order of events nor on intermediate states.
func TestSameSetSameReport(t *testing.T) {
	const n = 200
	want := build(fill(n))
	s := report.NewSet(nil)
	for range 3 {
		for _, i := range rand.Perm(n) {
			a := app(fmt.Sprintf("cluster%05d", i)).Obj()
			put(s, a, typical(rand.IntN(n)), "")
			if rand.IntN(2) == 0 {
				s.Delete(types.NamespacedName{Namespace: a.Namespace, Name: a.Name})
			}
		}
	}
	for _, i := range rand.Perm(n) {
		put(s, app(fmt.Sprintf("cluster%05d", i)).Obj(), typical(i), "")
	}
	if diff := cmp.Diff(want, build(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !report.Equal(want, build(s)) {
		t.Error("equal reports are told apart")
	}
}

// TestBudget checks that a report stays within its limit, counts the omitted rows, and omits the least urgent rows.
func TestBudget(t *testing.T) {
	for _, n := range []int{1000, 5000, 10_000} {
		s := fill(n)
		for _, maxBytes := range []int{1 << 20, 128 << 10} {
			got := s.Build(guestbook, owner, maxBytes)
			report.Publish(got, nil, 0, metav1.Now())
			data, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			rows := len(got.Statuses.ClusterConditions)
			t.Logf("%d Applications, at most %d bytes: %d bytes, %d rows, %s left out", n, maxBytes, len(data), rows, got.Statuses.Summary.Omitted)
			if len(data) > maxBytes {
				t.Errorf("%d bytes are more than %d", len(data), maxBytes)
			}
			if omitted, _ := strconv.Atoi(got.Statuses.Summary.Omitted); omitted+rows != n {
				t.Errorf("%d rows and %d left out are not %d", rows, omitted, n)
			}
			if got.Statuses.Summary.NotHealthy != strconv.Itoa(n/10) {
				t.Errorf("the counts are not those of all rows: %+v", got.Statuses.Summary)
			}
			if complete := meta.FindStatusCondition(got.Status.Conditions, apis.ConditionComplete); (complete.Status == metav1.ConditionTrue) != (rows == n) {
				t.Errorf("%d of %d rows and %+v", rows, n, complete)
			}
			shown := slices.IndexFunc(got.Statuses.ClusterConditions, func(r v1alpha1.ClusterCondition) bool { return r.HealthStatus == "Healthy" })
			if shown >= 0 && shown != n/10 {
				t.Errorf("a healthy row is shown after %d of %d that are not", shown, n/10)
			}
		}
	}
}

func TestBudgetOfResources(t *testing.T) {
	s := report.NewSet(nil)
	for i := range 100 {
		b := seen("Healthy", "Synced")
		for j := range 100 {
			b.Resource(fmt.Sprintf("apps/v1/Deployment/ns%d/name%d", i, j), "Synced", "Healthy")
		}
		put(s, app(fmt.Sprintf("cluster%d", i)).Obj(), b.Obj(), "")
	}
	got := s.Build(guestbook, owner, 256<<10)
	if len(got.Statuses.ClusterConditions) != 100 {
		t.Errorf("resources have pushed out all but %d rows", len(got.Statuses.ClusterConditions))
	}
	omitted, _ := strconv.Atoi(got.Statuses.Summary.OmittedResources)
	if omitted == 0 || omitted+len(got.Statuses.Resources) != 10_000 {
		t.Errorf("%d resources and %d left out", len(got.Statuses.Resources), omitted)
	}
	if data, _ := json.Marshal(got); len(data) > 256<<10 {
		t.Errorf("%d bytes", len(data))
	}
}

// TestBudgetOfFailures checks that a resource with failures everywhere takes only a few lines of a report. With many
// failing resources, the names come before the reasons.
func TestBudgetOfFailures(t *testing.T) {
	s := report.NewSet(nil)
	why := strings.Repeat("services is forbidden, ", 100)
	for i := range 1000 {
		put(s, app(fmt.Sprintf("cluster%04d", i)).Obj(), seen("Degraded", "OutOfSync").
			Resource("/v1/Service/guestbook/ui", "OutOfSync", "Missing").SyncFailed("/v1/Service/guestbook/ui", why).Obj(), "")
	}
	got := build(s).Statuses.Resources
	if len(got) != 1 || got[0].Failing != 1000 || len(got[0].Failures) != 10 || got[0].Failures[0].Cluster != "cluster0000" ||
		got[0].Failures[9].Cluster != "cluster0009" || len(got[0].Failures[0].Message) > 256 {
		t.Errorf("got %+v", got)
	}
	for i := range 1000 {
		put(s, app(fmt.Sprintf("cluster%04d", i)).Obj(), seen("Healthy", "Synced").Resource("/v1/Service/guestbook/ui", "Synced", "Healthy").Obj(), "")
	}
	if got := build(s).Statuses.Resources; len(got) != 1 || got[0].Failing != 0 || got[0].Failures != nil {
		t.Errorf("what was mended still fails: %+v", got)
	}

	for i := range 100 {
		b := seen("Degraded", "OutOfSync")
		for j := range 100 {
			path := fmt.Sprintf("apps/v1/Deployment/ns%d/name%d", i, j)
			b.Resource(path, "OutOfSync", "Missing").SyncFailed(path, why)
		}
		put(s, app(fmt.Sprintf("cluster%04d", i)).Obj(), b.Obj(), "")
	}
	const most = 256 << 10
	r := s.Build(guestbook, owner, most)
	report.Publish(r, nil, 0, metav1.Now())
	if data, err := json.Marshal(r); err != nil || len(data) > most {
		t.Errorf("%d bytes are more than %d: %v", len(data), most, err)
	}
	reasons := slices.IndexFunc(r.Statuses.Resources, func(r v1alpha1.ReportedResource) bool { return len(r.Failures) == 0 })
	fine := slices.IndexFunc(r.Statuses.Resources, func(r v1alpha1.ReportedResource) bool { return r.Failing == 0 })
	t.Logf("%d rows, %d resources, reasons of %d", len(r.Statuses.ClusterConditions), len(r.Statuses.Resources), reasons)
	if fine >= 0 && fine < 2000 { // the report lists 20 failing resources of each of 100 Applications
		t.Errorf("resource %d, which has not failed, is before some that have", fine)
	}
	if len(r.Statuses.ClusterConditions) < 100 {
		t.Errorf("resources have pushed out all but %d rows", len(r.Statuses.ClusterConditions))
	}
}

func TestReady(t *testing.T) {
	healthy := seen("Healthy", "Synced").Obj()
	tests := map[string]struct {
		notCompared string
		other       *observed.Facts
		problem     string
		forbidden   string
		unreachable string
		want        string
	}{
		"all good":        {other: healthy, want: apis.ReasonAllHealthy},
		"progressing":     {other: seen("Progressing", "Synced").Obj(), want: apis.ReasonProgressing},
		"not synced":      {other: seen("Healthy", "OutOfSync").Obj(), want: apis.ReasonNotSynced},
		"degraded":        {other: seen("Degraded", "Synced").Obj(), want: apis.ReasonNotHealthy},
		"not heard of":    {other: nil, want: apis.ReasonNotHealthy},
		"unreachable":     {other: healthy, unreachable: "gone", want: apis.ReasonClustersUnreachable},
		"not compared":    {other: healthy, notCompared: "since noon", want: apis.ReasonNotCompared},
		"cannot be sent":  {other: healthy, problem: "no such cluster", want: apis.ReasonNotPropagated},
		"may not be sent": {other: healthy, forbidden: "no binding", want: apis.ReasonNotPropagated},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			s := report.NewSet(nil)
			put(s, app("cluster1").Obj(), healthy, "")
			b := app("cluster2")
			if tc.problem != "" {
				b.Condition(apis.ConditionPropagationError, tc.problem)
			}
			if tc.notCompared != "" {
				b.Condition(apis.ConditionNotCompared, tc.notCompared)
			}
			if tc.forbidden != "" {
				b.Condition(apis.ConditionPropagationForbiddenError, tc.forbidden)
			}
			put(s, b.Obj(), tc.other, tc.unreachable)
			got := meta.FindStatusCondition(build(s).Status.Conditions, apis.ConditionReady)
			if got.Reason != tc.want || (got.Status == metav1.ConditionTrue) != (tc.want == apis.ReasonAllHealthy) {
				t.Errorf("got %s: %s, %s; want %s", got.Status, got.Reason, got.Message, tc.want)
			}
		})
	}
}
