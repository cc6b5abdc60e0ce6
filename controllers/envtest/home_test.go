package envtest_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// homes starts Towline with an administrator's choice of the namespace for Applications of a cluster. Applications may
// not choose a namespace.
func homes(t *testing.T, cluster, namespace string, edits ...func(*controllers.Options)) *running {
	t.Helper()
	chosen := map[string]string{cluster: namespace}
	return startReplica(t,
		func(o *ctrl.Options) { o.Cache = controllers.Cache(controllers.DefaultArgoCDNamespace, chosen) },
		func(o *controllers.Options) {
			for _, e := range edits {
				e(o)
			}
			o.AppNamespaces = chosen
			o.Authorization.NamespaceRules = nil
		})
}

// landsIn returns the Application's namespace in its work.
func landsIn(t *testing.T, app *argocd.Application) string {
	t.Helper()
	NewWithT(t).Eventually(func() bool { return workOf(t, app) == nil }, soon, tick).Should(BeFalse())
	there, ok := work.Carried(workOf(t, app))
	if !ok {
		t.Fatal("the work carries no Application")
	}
	return there.Namespace
}

// TestHomeOnTheHub: on the hub as a managed cluster, an Application without a namespace annotation lands in the
// administrators' namespace. Neither the delivery nor the deletion needs an annotation or a rule.
func TestHomeOnTheHub(t *testing.T) {
	c := cluster(t, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} })
	homes(t, c.Name, "local-apps")
	app, elsewhere := application(t, c).Obj(), application(t, cluster(t)).Obj()
	create(t, app)
	create(t, elsewhere)
	g := NewWithT(t)
	g.Expect(landsIn(t, app)).To(Equal("local-apps"))
	g.Expect(landsIn(t, elsewhere)).To(Equal(elsewhere.Namespace))
	expectNoProblem(t, app)

	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationAppNamespace] = "chosen" })
	expectForbidden(t, app, apis.ReasonNamespaceForbidden, "may not have namespace \"chosen\"")
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationAppNamespace) })
	g.Eventually(func() bool {
		_, there := condition(t, app, apis.ConditionPropagationForbiddenError)
		return there
	}, soon, tick).Should(BeFalse())

	reportOf(t, workOf(t, app), feedbackOf(homed(app, "local-apps")).Healthy("a"))
	expectHealth(t, app, "Healthy")
	remove(t, app)
	expectGone(t, app)
	g.Eventually(func() bool { return workOf(t, app) == nil }, soon, tick).Should(BeTrue())
}

// TestHomeIsShared: two Applications of the same name, from two namespaces of the hub, cannot share a namespace on the
// cluster.
func TestHomeIsShared(t *testing.T) {
	c := cluster(t)
	homes(t, c.Name, "shared")
	first := application(t, c).Obj()
	create(t, first)
	landsIn(t, first)
	second := application(t, c).Obj()
	create(t, second)
	expectProblem(t, second, apis.ReasonTargetConflict, "the same namespace and name")
}

// TestHomeThatIsTooLong: the hub's namespace is valid, and the derived namespace is too long. The Application shows the
// problem before any delivery.
func TestHomeThatIsTooLong(t *testing.T) {
	c := cluster(t)
	homes(t, c.Name, "local-"+controllers.NamespaceOfHub)
	ns := namespace(t, unique(strings.Repeat("x", 54)))
	app := application(t, c).Namespace(ns).Obj()
	create(t, app)
	expectProblem(t, app, apis.ReasonNamespaceInvalid, "--app-namespaces gives Applications of namespace "+ns)
	if w := workOf(t, app); w != nil {
		t.Errorf("it is sent: %s", w.Name)
	}
}

// TestMoveFromAHome: the Application has a permission for the administrators' namespace of the old cluster, even if the
// new cluster has no such setting. The Application stays on the old cluster until the new cluster has the Application.
func TestMoveFromAHome(t *testing.T) {
	from, to := cluster(t), cluster(t)
	homes(t, from.Name, "shared", deleting)
	app := application(t, from).Obj()
	create(t, app)
	g := NewWithT(t)
	g.Expect(landsIn(t, app)).To(Equal("shared"))
	old := workOf(t, app)
	reportOf(t, old, feedbackOf(homed(app, "shared")).Healthy("a"))
	expectHealth(t, app, "Healthy")
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	expectNotice(t, app, apis.ConditionMoveWarning, "cluster "+from.Name+" keeps the Application")
	g.Consistently(func() bool {
		now := get(t, old.DeepCopy())
		return now != nil && now.DeletionTimestamp.IsZero()
	}, time.Second, tick).Should(BeTrue(), "it was taken off its old cluster")
}

// homed returns the Application with its Home set, as the controllers see the Application.
func homed(app *argocd.Application, namespace string) *argocd.Application {
	app = app.DeepCopy()
	app.Home = namespace
	return app
}
