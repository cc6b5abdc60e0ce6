package why_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/why"
)

// TestResumeCommand checks that the command resumes the paused object, for the messages of the real decision.
func TestResumeCommand(t *testing.T) {
	paused, unclear := map[string]string{apis.AnnotationPaused: "true"}, map[string]string{apis.AnnotationPaused: "jep"}
	bySet := argocd.PausedBy("ApplicationSet argocd/books", paused)
	for name, c := range map[string]struct {
		app, cluster string
		want         string
	}{
		"by itself":              {app: argocd.PausedBy("this Application", paused), want: "-n argocd guestbook"},
		"by its ApplicationSet":  {app: bySet, want: "-n argocd --applicationset books"},
		"by its cluster":         {cluster: argocd.PausedBy("Namespace cluster1", paused), want: "--cluster cluster1"},
		"with an unclear value":  {cluster: argocd.PausedBy("Namespace cluster1", unclear), want: "--cluster cluster1"},
		"by both of these":       {app: bySet, cluster: "Namespace cluster1", want: "-n argocd --applicationset books"},
		"by its set, with a dot": {app: argocd.PausedBy("ApplicationSet argocd/books.eu", paused), want: "-n argocd --applicationset books.eu"},
	} {
		t.Run(name, func(t *testing.T) {
			app := fixture.Application("guestbook").Obj()
			cluster := managedcluster.Facts{Name: "cluster1", Exists: true, Accepted: true, Ready: true, Paused: c.cluster}
			plan := delivery.Decide(delivery.Facts{
				App: app, Presence: delivery.Present, Known: ^delivery.FactSet(0), Paused: c.app,
				Clusters: map[string]managedcluster.Facts{"cluster1": cluster},
			}, delivery.Options{Adopt: apis.AdoptMatching})
			if len(plan.Conditions) != 1 {
				t.Fatalf("the plan says %v", plan.Conditions)
			}
			if got := why.ResumeCommand("argocd", "guestbook", plan.Conditions[0].Message); got != "kubectl towline resume "+c.want {
				t.Errorf("%s, of: %s", got, plan.Conditions[0].Message)
			}
		})
	}
}
