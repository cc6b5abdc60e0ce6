package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestDestination: an Application arrives with the destination from its annotation. The delivered AppProject permits
// the destination as long as an Application has the destination.
func TestDestination(t *testing.T) {
	start(t)
	c := cluster(t)
	project := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Destinations = []argocd.ProjectDestination{
			{Name: c.Name, Namespace: "web"}, {Name: "edge-*", Namespace: "web"}, {Name: "in-cluster", Namespace: "more"},
		}
	})
	behind := webApp(t, c, project.Name, "https://git.example.com/a").Annotation(apis.AnnotationDestinationName, "edge-1").Obj()
	plain := webApp(t, c, project.Name, "https://git.example.com/a").Obj()
	create(t, plain)
	create(t, behind)
	w := expectWork(t, behind)
	g := NewWithT(t)
	g.Expect(carriedBy(w)).To(And(ContainSubstring(`"destination":{"name":"edge-1","namespace":"web"}`),
		Not(ContainSubstring(apis.AnnotationDestinationName))))
	g.Expect(carriedBy(expectWork(t, plain))).To(ContainSubstring(apis.InClusterServer))

	const (
		itself = `{"namespace":"web","server":"https://kubernetes.default.svc"},{"namespace":"more","server":"https://kubernetes.default.svc"}`
		edge   = `{"name":"edge-1","namespace":"web"}`
	)
	key := dependency.ProjectKey(c.Name, project.Name)
	expectDependency(t, key, carries(`"destinations":[`+itself+`,`+edge+`]`))
	edit(t, behind, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationDestinationName) })
	expectDependency(t, key, carries(`"destinations":[`+itself+`]`))
}

// TestTakeoverKeepsTheDestination: a work of an older controller with a different destination stays unchanged until a
// user decides.
func TestTakeoverKeepsTheDestination(t *testing.T) {
	start(t)
	c := cluster(t)
	project := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Destinations = append(p.Spec.Destinations, argocd.ProjectDestination{Name: "edge-1", Namespace: "web"})
	})
	app := webApp(t, c, project.Name, "https://git.example.com/a").Annotation(apis.AnnotationPaused, "true").Obj()
	create(t, app)
	w := fixture.OlderWork(app, false)
	fixture.SetDestination(w, argocd.Destination{Name: "edge-1"})
	create(t, w)
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationPaused) })
	expectProblem(t, app, apis.ReasonDestinationConflict, apis.AnnotationDestinationName+": edge-1")
	g := NewWithT(t)
	g.Expect(get(t, &workv1.ManifestWork{ObjectMeta: w.ObjectMeta}).Spec).To(Equal(w.Spec))

	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationDestinationName] = "edge-1" })
	expectNoProblem(t, app)
	g.Eventually(func() string { return carriedBy(workOf(t, app)) }, soon, tick).Should(And(
		ContainSubstring(`"destination":{"name":"edge-1","namespace":"web"}`), ContainSubstring(apis.LabelPulled)))
}
