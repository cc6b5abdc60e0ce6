package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
)

// TestNamespacesAreBrought: a cluster gets the namespace of an Application, and keeps the namespace.
func TestNamespacesAreBrought(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Dependencies.Namespaces = true })
	c := cluster(t)
	project := appProject(t)
	team := webApp(t, c, project.Name, "https://git.example.com/a").Annotation(apis.AnnotationAppNamespace, "apps-team").Obj()
	create(t, team)
	beside := webApp(t, c, project.Name, "https://git.example.com/a").Annotation(apis.AnnotationAppNamespace, clusterArgoCD).Obj()
	create(t, beside)
	key := dependency.NamespaceKey(c.Name, "apps-team")
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(carriedBy(w)).To(Equal(`{"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"argocd.argoproj.io/managed-by":"` +
			clusterArgoCD + `"},"name":"apps-team"}}`))
		g.Expect(w.Spec.DeleteOption.PropagationPolicy).To(Equal(workv1.DeletePropagationPolicyTypeOrphan))
		g.Expect(w.Spec.ManifestConfigs[0].UpdateStrategy.Type).To(Equal(workv1.UpdateStrategyTypeCreateOnly))
	})
	expectDependency(t, dependency.ProjectKey(c.Name, project.Name), carries(`"sourceNamespaces":["*"]`))
	neverDependency(t, dependency.NamespaceKey(c.Name, clusterArgoCD), beside)
	remove(t, team)
	expectNoDependency(t, key)
}
