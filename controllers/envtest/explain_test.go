package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestExplainOnTheHub: Explain uses the namespace that administrators chose for a cluster.
func TestExplainOnTheHub(t *testing.T) {
	c := cluster(t, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} })
	homes(t, c.Name, "local-apps")
	app := application(t, c).Obj()
	create(t, app)
	landsIn(t, app)
	settled(t)
	for home, reason := range map[string]string{"local-apps": "", "": apis.ReasonLocalClusterConflict} {
		e := &propagation.Explainer{Client: k8s, ArgoCDNamespace: controllers.DefaultArgoCDNamespace, AppNamespaces: map[string]string{c.Name: home}}
		_, plan, err := e.Explain(t.Context(), get(t, app.DeepCopy()))
		if err != nil || plan.Blocked() != reason {
			t.Errorf("%v, %q with %q", err, plan.Blocked(), home)
		}
	}
}

// TestExplain: without a cache and without memory, Explain gives the reason that the controller shows on the
// Application.
func TestExplain(t *testing.T) {
	tow := start(t)
	c := cluster(t)
	other := application(t, c).Obj()
	create(t, other)
	expectWork(t, other)
	for title, tc := range map[string]struct {
		app    *argocd.Application
		reason string
	}{
		"all is well":        {application(t, c).Obj(), ""},
		"no such cluster":    {application(t, c).Cluster("nowhere").Obj(), apis.ReasonClusterNotFound},
		"no cluster":         {application(t, c).NoAnnotation(apis.AnnotationCluster).Obj(), apis.ReasonClusterAnnotationMissing},
		"two controllers":    {application(t, c).NoAnnotation("argocd.argoproj.io/skip-reconcile").Obj(), apis.ReasonSkipReconcileMissing},
		"no right to it":     {fixture.Application("guestbook").Namespace(tenant(t)).Cluster(c.Name).Obj(), apis.ReasonClusterForbidden},
		"another has it":     {application(t, c).Annotation(apis.AnnotationAppNamespace, other.Namespace).Obj(), apis.ReasonTargetConflict},
		"somebody paused it": {application(t, c).Annotation(apis.AnnotationPaused, "true").Obj(), apis.ReasonPaused},
	} {
		t.Run(title, func(t *testing.T) {
			create(t, tc.app)
			if tc.reason == "" {
				expectWork(t, tc.app)
			} else {
				NewWithT(t).Eventually(func() int { return len(get(t, tc.app).Status.Conditions) }, soon, tick).ShouldNot(BeZero())
			}
			tow.countAnew(t)
			app := get(t, tc.app)
			e := &propagation.Explainer{
				Client: k8s, ArgoCDNamespace: controllers.DefaultArgoCDNamespace, Options: delivery.Options{Adopt: apis.AdoptMatching},
				NamespaceRules: []authorization.NamespaceRule{{From: "*", To: "*"}}, // as in start
			}
			facts, plan, err := e.Explain(t.Context(), app)
			if err != nil {
				t.Fatal(err)
			}
			if app.Cluster() != "" && (facts.Own == nil) != (workOf(t, app) == nil) {
				t.Error("it has another work")
			}
			if tc.reason == "" {
				if len(plan.Conditions) > 0 || len(plan.Steps) > 0 {
					t.Errorf("got %+v and %+v", plan.Conditions, plan.Steps)
				}
				return
			}
			if len(plan.Conditions) != 1 || plan.Conditions[0].Reason != tc.reason || plan.Conditions[0].Message != app.Status.Conditions[0].Message {
				t.Errorf("got %+v, and the Application says %+v", plan.Conditions, app.Status.Conditions)
			}
			if made := tow.made(t); len(made) > 0 {
				t.Errorf("it wrote %q", made)
			}
		})
	}
}
