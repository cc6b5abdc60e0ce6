package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// expectSame fails if the work of a dependency was changed or deleted.
func expectSame(t *testing.T, before *workv1.ManifestWork) {
	t.Helper()
	settledBeside(t)
	now := dependencyWork(t, types.NamespacedName{Namespace: before.Namespace, Name: before.Name})
	if now == nil || now.UID != before.UID || !now.DeletionTimestamp.IsZero() || now.Generation != before.Generation {
		t.Fatalf("it was changed: %+v", now)
	}
}

// TestObjectsThatAreMissingStay: if a listed object is missing on the hub, the object stays unchanged on the cluster,
// because the workload uses the object. A user who no longer needs the object removes the object from the list.
func TestObjectsThatAreMissingStay(t *testing.T) {
	start(t)
	config := func(app *argocd.Application) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "settings"}, Data: map[string]string{"color": "blue"}}
		c.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
		return c
	}
	for title, both := range map[string]bool{"one of them": false, "all of them": true} {
		t.Run(title, func(t *testing.T) {
			app := objectsApp(t, cluster(t), "secret/db,configmap/settings")
			secret, settings := secretIn(t, app.Namespace, "db", true), config(app)
			create(t, settings)
			key := dependency.ObjectsKey(work.Key(app))
			sent := expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
				carries("password")(g, w)
				carries("blue")(g, w)
			})
			take(t, secret)
			expectTrouble(t, app, "the hub has no secret/db in namespace "+app.Namespace)
			if both {
				take(t, settings)
				expectTrouble(t, app, "the hub has no configmap/settings")
			}
			expectSame(t, sent)

			// The existing object still follows its changes.
			if both {
				settings = config(app)
				create(t, settings)
			}
			edit(t, settings, func(c *corev1.ConfigMap) { c.Data["color"] = "green" })
			expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
				carries("password")(g, w)
				carries("green")(g, w)
			})
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationWith] = "configmap/settings" })
			expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(carriedBy(w)).NotTo(ContainSubstring("password")) })
		})
	}
}

// TestACredentialThatIsMissing: if the Secret is missing on the hub for less than a minute, the credential stays
// unchanged on the cluster. A removal by the Secret's owner has effect at once.
func TestACredentialThatIsMissing(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Dependencies.Grace = 0 })
	c := cluster(t)
	s, repo := repoSecret(t)
	again := s.DeepCopy()
	again.ResourceVersion = ""
	create(t, webApp(t, c, "default", repo).Obj())
	key := dependency.CredentialKey(c.Name, s.Name)
	sent := expectDependency(t, key, carries(secretWith(t, password)))
	take(t, s)
	expectSame(t, sent)
	create(t, again)
	expectSame(t, sent)
	edit(t, again, func(s *corev1.Secret) { s.Annotations = nil })
	expectNoDependency(t, key)
}

// TestDependenciesOfAClusterThatIsMissing: without the ManagedCluster, its settings are missing too, so the
// dependencies stay in their namespace.
func TestDependenciesOfAClusterThatIsMissing(t *testing.T) {
	start(t)
	c := cluster(t, func(c *clusterv1.ManagedCluster) {
		c.Annotations = map[string]string{apis.AnnotationArgoCDNamespace: "openshift-gitops"}
	})
	addressed(t, c.Name, "https://c.example.com")
	p := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Destinations = []argocd.ProjectDestination{{Server: "https://c.example.com", Namespace: "*"}}
	})
	app := webApp(t, c, p.Name, "https://x.example.com").Obj()
	create(t, app)
	expectWork(t, app)
	sent := expectDependency(t, dependency.ProjectKey(c.Name, p.Name), carries(`"namespace":"openshift-gitops"`))
	end(t, c)
	expectProblem(t, app, apis.ReasonClusterNotFound, "does not exist: import the cluster")
	edit(t, p, func(p *argocd.AppProject) { p.Labels = map[string]string{"a": "b"} })
	expectSame(t, sent)
}
