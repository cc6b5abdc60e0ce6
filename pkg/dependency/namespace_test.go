package dependency

import (
	"slices"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// teamApp returns an Application in the namespace of a team.
func teamApp() *fixture.ApplicationBuilder { return webApp().Namespace("team") }

// ofNamespace returns a situation for the work of a team's namespace.
func ofNamespace(edits ...edit) *situation {
	s := of(NamespaceKey(cluster, "team"), func(s *situation) { s.Namespaces = true })
	return s.with(edits...)
}

// namespaceThere adds the namespace's work, applied by the agent.
func namespaceThere() edit {
	return func(s *situation) {
		w, err := renderNamespace(cluster, "team", "gitops")
		if err != nil {
			panic(err)
		}
		w.UID, w.ResourceVersion, w.Generation = "uid", "7", 1
		applied(w)
		s.Work, s.Works = w, append(s.Works, w)
	}
}

// creates reports whether a work only creates the namespace, and leaves the namespace on the cluster.
func creates(w *workv1.ManifestWork) bool {
	raw := string(w.Spec.Workload.Manifests[0].Raw)
	return orphans(w) && w.Spec.ManifestConfigs[0].UpdateStrategy.Type == workv1.UpdateStrategyTypeCreateOnly &&
		strings.Contains(raw, `"argocd.argoproj.io/managed-by":"gitops"`) && strings.Contains(raw, `"name":"team"`)
}

func TestNamespace(t *testing.T) {
	argoCDThere := func(s *situation) { s.ClusterArgoCD = "team" }
	off := func(s *situation) { s.Namespaces = false }
	hub := func(s *situation) { s.Cluster.Hub = true }
	decides(t, map[string]row{
		"needed": {is: ofNamespace(used(teamApp())), want: []string{"create"}, after: creates},
		"needed by an Application that is not sent": {is: ofNamespace(used(teamApp(), unsent)), want: []string{"create"}},
		"there": {is: ofNamespace(used(teamApp()), namespaceThere()), want: []string{}},
		"needed by an Application that is forbidden": {is: ofNamespace(used(teamApp(), forbidden)), want: []string{}},
		"needed by no Application":                   {is: ofNamespace(), want: []string{}},
		"unused":                                     {is: ofNamespace(namespaceThere()), want: []string{"delete"}},
		"the namespace of Argo CD there":             {is: ofNamespace(used(teamApp()), argoCDThere), want: []string{}},
		"the namespace of Argo CD there now":         {is: ofNamespace(used(teamApp()), namespaceThere(), argoCDThere), want: []string{"delete"}},
		"where none are brought":                     {is: ofNamespace(used(teamApp()), off), want: []string{}},
		"on the hub itself":                          {is: ofNamespace(used(teamApp()), hub), want: []string{}},
		"on no known cluster":                        {is: ofNamespace(used(teamApp()), noCluster), want: []string{}},
		"forbidden since": {is: ofNamespace(used(teamApp(), forbidden), namespaceThere(), carrying(requestFor(teamApp().Obj())),
			asked), want: []string{"needs requested"}},
	})
}

// TestArrivals checks that the delivered AppProject permits the Applications' namespaces on the cluster.
func TestArrivals(t *testing.T) {
	elsewhere := func(namespace string) *fixture.ApplicationBuilder {
		return teamApp().Annotation(apis.AnnotationAppNamespace, namespace)
	}
	for title, tc := range map[string]struct {
		is   *situation
		want []string
	}{
		"as on the hub":             {ofProject(used(teamApp())), nil},
		"in another":                {ofProject(used(elsewhere("apps-team"))), []string{"apps-team"}},
		"in Argo CD's":              {ofProject(used(elsewhere("gitops"))), nil},
		"in another, and forbidden": {ofProject(used(elsewhere("apps-team"), forbidden)), nil},
		"of a namespace that may not use it": {
			ofProject(used(webApp().Namespace("others").Annotation(apis.AnnotationAppNamespace, "apps"))), nil},
		"in another, and gone from the hub": {ofProject(carrying(workOf(elsewhere("apps-team").Obj()))), []string{"apps-team"}},
	} {
		if got := tc.is.arrivals(tc.is.Options); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v", title, got)
		}
	}
	plan := Decide(ofProject(used(elsewhere("apps-team"))).Facts, ofProject().Options)
	if plan.Step == nil || !strings.Contains(string(plan.Step.Work.Spec.Workload.Manifests[0].Raw), `"sourceNamespaces":["team","apps-team"]`) {
		t.Errorf("got %+v", plan)
	}
}
