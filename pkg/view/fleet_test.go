package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// row returns an Application of a set on a cluster.
func row(set, cluster string, state why.State) view.Row {
	r := view.Row{Namespace: "argocd", Name: cluster + "-" + set, Set: set, Cluster: cluster, State: state}
	if state != why.OK {
		r.Reason = "Degraded"
	}
	return r
}

// TestMatrix checks the content of the cells, by groups, and with problems only.
func TestMatrix(t *testing.T) {
	rows := []view.Row{
		row("web", "eu1", why.OK), row("web", "eu2", why.Blocked), row("web", "us1", why.OK), row("db", "eu1", why.Waiting),
		row("db", "eu1", why.Blocked), row("db", "eu1", why.OK), row("", "eu1", why.Blocked), row("web", "", why.Blocked),
	}
	rows[4].Name = "worse"
	text := func(m *view.Matrix) string {
		var b strings.Builder
		fmt.Fprintln(&b, m.Sets)
		for _, g := range m.Groups {
			fmt.Fprintf(&b, "%q %v\n", g.Name, g.Counts)
			for _, l := range g.Clusters {
				fmt.Fprintf(&b, " %s", l.Cluster)
				for _, c := range l.Cells {
					fmt.Fprintf(&b, " %d:%s:%s", c.Applications, c.State(), c.Application)
				}
				fmt.Fprintln(&b)
			}
		}
		return b.String()
	}
	eu := map[string]string{"eu1": "eu", "eu2": "eu"}
	for title, tc := range map[string]struct {
		options view.MatrixOptions
		want    string
	}{
		"all": {view.MatrixOptions{}, `[argocd/db argocd/web]
"" [{3 1 1 1} {3 2 0 1}]
 eu1 3:blocked:argocd/worse 1:ok:
 eu2 0:: 1:blocked:argocd/eu2-web
 us1 0:: 1:ok:
`},
		"grouped": {view.MatrixOptions{Group: eu}, `[argocd/db argocd/web]
"eu" [{3 1 1 1} {2 1 0 1}]
 eu1 3:blocked:argocd/worse 1:ok:
 eu2 0:: 1:blocked:argocd/eu2-web
"" [{0 0 0 0} {1 1 0 0}]
 us1 0:: 1:ok:
`},
		"problems": {view.MatrixOptions{Group: eu, Problems: true}, `[argocd/db argocd/web]
"eu" [{3 1 1 1} {2 1 0 1}]
 eu1 3:blocked:argocd/worse 1:ok:
 eu2 0:: 1:blocked:argocd/eu2-web
`},
	} {
		if diff := cmp.Diff(tc.want, text(view.MatrixOf(rows, tc.options))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
	if m := view.MatrixOf(nil, view.MatrixOptions{}); m.Sets == nil || m.Groups == nil {
		t.Error("an empty matrix is null for programs")
	}
}

// TestClusters checks that a cluster has the worst of its known states.
func TestClusters(t *testing.T) {
	available := func(name string, status metav1.ConditionStatus) clusterv1.ManagedCluster {
		c := fixture.Cluster(name).Obj()
		c.Status.Version.Kubernetes = "v1.33.1"
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Message: "no Lease"}}
		return *c
	}
	forbidden := row("web", "good", why.Blocked)
	forbidden.Message = `services is forbidden: User "argocd" cannot create`
	heard := row("web", "good", why.OK)
	heard.Heard = &noon
	rows := []view.Row{heard, forbidden, forbidden, row("web", "gone", why.OK), row("web", "", why.Blocked)}
	f := &view.ClusterFacts{
		Managed: []clusterv1.ManagedCluster{
			available("good", metav1.ConditionTrue), available("away", metav1.ConditionUnknown), available("empty", metav1.ConditionTrue),
		},
		Heard: map[string]time.Time{"away": noon.Add(-time.Hour), "good": noon.Add(-time.Hour)}, Agents: map[string]string{"good": "v1.2.3"},
	}
	got := map[string]view.Cluster{}
	for _, c := range view.ClustersOf(rows, f) {
		got[c.Name] = c
	}
	for name, ok := range map[string]bool{
		"good": got["good"].State == why.Blocked && got["good"].Heard.Equal(noon) && got["good"].Agent == "v1.2.3" &&
			len(got["good"].MissingRights) == 1,
		"away":  got["away"].State == why.Blocked && strings.Contains(got["away"].Message, "no Lease") && got["away"].Heard.Before(noon),
		"empty": got["empty"].State == why.OK && got["empty"].Kubernetes == "v1.33.1" && got["empty"].Heard == nil,
		"gone":  got["gone"].State == why.Blocked && strings.Contains(got["gone"].Message, "ManagedCluster does not exist"),
	} {
		if !ok || len(got) != 4 {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	if p := view.ProblemClusters(view.ClustersOf(rows, f)); len(p) != 3 {
		t.Errorf("clusters with problems: %+v", p)
	}
	tenant := view.ClustersOf(rows[:1], &view.ClusterFacts{ManagedUnread: true})
	if len(tenant) != 1 || tenant[0].State != why.Unknown || tenant[0].Counts.Applications != 1 {
		t.Errorf("for a tenant: %+v", tenant)
	}
}

// TestStats checks the counts.
func TestStats(t *testing.T) {
	other := row("web", "c2", why.Waiting)
	other.Namespace, other.Reason, other.Health = "team", "Progressing", "Progressing"
	got := view.StatsOf([]view.Row{row("web", "c1", why.OK), row("db", "c1", why.Blocked), row("web", "c2", why.Blocked), other})
	want := &view.Stats{
		Counts: view.Counts{Applications: 4, OK: 1, Waiting: 1, Blocked: 2}, Clusters: 2, Sets: 3,
		ByHealth: []view.Count{{"None", why.Blocked, 3}, {"Progressing", why.Waiting, 1}},
		BySync:   []view.Count{{"None", why.Blocked, 4}},
		ByReason: []view.Count{{"Degraded", why.Blocked, 2}, {"Progressing", why.Waiting, 1}},
		ByNamespace: []view.NamespaceCounts{
			{"argocd", view.Counts{Applications: 3, OK: 1, Blocked: 2}}, {"team", view.Counts{Applications: 1, Waiting: 1}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// treeText prints a tree, one line for each node.
func treeText(n *view.Node) string {
	if n == nil {
		return "-"
	}
	out := fmt.Sprintf("%s %s %s/%s@%s [%s] %s", n.State, n.Kind, n.Namespace, n.Name, n.Cluster, n.Status, n.Message)
	for _, c := range n.Children {
		out += "\n" + "  " + strings.ReplaceAll(treeText(c), "\n", "\n  ")
	}
	return out
}

// TestTree checks the full tree and the reduced trees.
func TestTree(t *testing.T) {
	work := func(status metav1.ConditionStatus) *workv1.ManifestWork {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "guestbook-4a491", Generation: 2}}
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: status, Message: "no rights", ObservedGeneration: 2}}
		return w
	}
	parts := func(s *argocd.Status) {
		s.Resources = []argocd.ResourceStatus{
			{Kind: "Service", Namespace: "guestbook", Name: "ui", Status: "Synced", Health: &argocd.Health{Status: "Healthy"}},
			{Kind: "ConfigMap", Namespace: "guestbook", Name: "ui", Status: "Synced"},
		}
	}
	broken := func(s *argocd.Status) {
		parts(s)
		s.Health.Status = "Degraded"
		s.Resources = append(s.Resources, argocd.ResourceStatus{
			Group: "apps", Kind: "Deployment", Namespace: "guestbook", Name: "ui", Status: "Synced",
			Health: &argocd.Health{Status: "Degraded", Message: "no image"},
		})
	}
	good := view.TreeOf(&view.TreeFacts{App: app("guestbook", parts), Work: work(metav1.ConditionTrue)})
	bad := view.TreeOf(&view.TreeFacts{
		App: app("guestbook", broken), Work: work(metav1.ConditionTrue),
		Report: &v1alpha1.ApplicationReport{
			Application: v1alpha1.ReportedApplication{Namespace: "elsewhere"}, Truncated: &v1alpha1.Truncated{Resources: 7},
		},
	})
	both := view.TreeOfSet("argocd", "guestbook", []*view.Node{good, bad})
	for title, tc := range map[string]struct {
		is   *view.Node
		want string
	}{
		"all is well": {good, `ok Application argocd/guestbook@ [Synced, Healthy] 
  ok ManifestWork cluster1/guestbook-4a491@ [Applied] 
    ok Application argocd/guestbook@cluster1 [Synced, Healthy] 
      ok ConfigMap guestbook/ui@cluster1 [Synced] 
      ok Service guestbook/ui@cluster1 [Synced, Healthy] `},
		"well, compact": {good.Compact(), `ok Application argocd/guestbook@cluster1 [Synced, Healthy] 
  ok  /2 resources@cluster1 [all well] `},
		"well, problems": {good.Problems(), "-"},
		"broken": {bad, `blocked Application argocd/guestbook@ [Degraded] Deployment ui: no image
  ok ManifestWork cluster1/guestbook-4a491@ [Applied] 
    blocked Application elsewhere/guestbook@cluster1 [Synced, Degraded] 7 more resources are not listed
      blocked Deployment.apps guestbook/ui@cluster1 [Degraded, Synced] no image
      ok ConfigMap guestbook/ui@cluster1 [Synced] 
      ok Service guestbook/ui@cluster1 [Synced, Healthy] `},
		"broken, problems": {both.Problems(), `blocked ApplicationSet argocd/guestbook@ [2 Applications] 
  blocked Application argocd/guestbook@ [Degraded] Deployment ui: no image
    ok ManifestWork cluster1/guestbook-4a491@ [Applied] 
      blocked Application elsewhere/guestbook@cluster1 [Synced, Degraded] 7 more resources are not listed
        blocked Deployment.apps guestbook/ui@cluster1 [Degraded, Synced] no image`},
		"refused": {view.TreeOf(&view.TreeFacts{App: app("guestbook"), Work: work(metav1.ConditionFalse)}).Problems(),
			"ok Application argocd/guestbook@ [Synced, Healthy] \n  blocked ManifestWork cluster1/guestbook-4a491@ [not applied] no rights"},
		"for a tenant": {view.TreeOf(&view.TreeFacts{App: app("guestbook", parts), WorkUnread: true}).Compact(),
			`ok Application argocd/guestbook@cluster1 [Synced, Healthy] 
  ok  /2 resources@cluster1 [all well] `},
		"not made": {view.TreeOf(&view.TreeFacts{App: app("guestbook")}),
			"ok Application argocd/guestbook@ [Synced, Healthy] \n  waiting ManifestWork cluster1/-@ [not made] "},
		"no cluster": {view.TreeOf(&view.TreeFacts{App: fixture.Application("a").NoAnnotation(apis.AnnotationCluster).
			Condition(apis.ConditionPropagationError, "no cluster").Obj()}), "blocked Application argocd/a@ [PropagationError] no cluster"},
	} {
		if got := treeText(tc.is); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s (-want +got):\n%s", title, cmp.Diff(tc.want, got))
		}
	}
}
