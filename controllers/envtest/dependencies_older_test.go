package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// broughtBy creates an Application, and the applied work of an older controller with the Application and its
// AppProject.
func broughtBy(t *testing.T, app *argocd.Application) {
	t.Helper()
	create(t, app)
	w := fixture.OlderWork(app, false)
	status := w.Status
	create(t, w)
	editStatus(t, w, func(w *workv1.ManifestWork) { fixture.Report(w, status) })
}

// TestProjectThatAnOlderControllerSent: the hub's AppProject replaces the AppProject of an older controller on the
// cluster, including later changes by any manager. An AppProject from elsewhere is not overwritten.
func TestProjectThatAnOlderControllerSent(t *testing.T) {
	forced := func(want bool) func(Gomega, *workv1.ManifestWork) {
		return func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.Forced(w)).To(Equal(want)) }
	}
	of := func(t *testing.T, ofSet bool) (*argocd.AppProject, *argocd.Application) {
		t.Helper()
		p := appProject(t)
		b := webApp(t, cluster(t), p.Name, "https://git.example.com/apps.git").Annotation(apis.AnnotationAppNamespace, clusterArgoCD)
		if ofSet {
			b.ApplicationSet("old")
		}
		return p, b.Obj()
	}
	for title, ofSet := range map[string]bool{"standalone": false, "of a set": true} {
		t.Run(title, func(t *testing.T) {
			p, app := of(t, ofSet)
			broughtBy(t, app)
			towline := start(t)
			key := dependency.ProjectKey(app.Cluster(), p.Name)
			expectDependency(t, key, forced(true))
			expectWork(t, app)
			towline.stop()
			start(t)
			edit(t, p, func(p *argocd.AppProject) {
				p.Spec.Raw = []byte(`{"sourceRepos":["https://git.example.com/*"],"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}]}`)
			})
			expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
				carries("https://git.example.com/*")(g, w)
				forced(true)(g, w)
			})
			expectTrouble(t, app, "")
		})
	}
	t.Run("found out when it is refused", func(t *testing.T) {
		p, app := of(t, true)
		key := dependency.ProjectKey(app.Cluster(), p.Name)
		create(t, app)
		towline := start(t)
		expectDependency(t, key, forced(false))
		answer(t, key, metav1.ConditionFalse, "Apply failed with 1 conflict")
		expectTrouble(t, app, "uses its own AppProject of the same name")
		towline.stop()
		other := fixture.Application(unique("web")).Namespace(app.Namespace).Cluster(app.Cluster()).
			Annotation(apis.AnnotationAppNamespace, clusterArgoCD).Spec(string(app.Spec.Raw)).ApplicationSet("old").Obj()
		broughtBy(t, other)
		start(t)
		expectDependency(t, key, forced(true))
		answer(t, key, metav1.ConditionTrue, "")
		expectTrouble(t, app, "")
	})
}
