package envtest_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// stays checks that the objects of a work stay on the cluster after the deletion of the work.
func stays(g Gomega, w *workv1.ManifestWork) {
	g.Expect(w.Spec.DeleteOption).To(HaveValue(HaveField("PropagationPolicy", workv1.DeletePropagationPolicyTypeOrphan)))
}

func goes(g Gomega, w *workv1.ManifestWork) { g.Expect(w.Spec.DeleteOption).To(BeNil()) }

// answerLeft waits until the dependency's work names the Application that keeps the dependency, and then confirms the
// apply. An earlier answer would not count for the new generation.
func answerLeft(t *testing.T, key types.NamespacedName) {
	t.Helper()
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.ReleasedTo(w)).NotTo(BeEmpty()) })
	answer(t, key, metav1.ConditionTrue, "")
}

// beside creates an Application with an AppProject, a credential and a Secret, and returns the works of these three
// dependencies. The cluster has confirmed the Application.
func beside(t *testing.T) (app *argocd.Application, dependencies []types.NamespacedName) {
	t.Helper()
	app, dependencies = sentBeside(t)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	return app, dependencies
}

// sentBeside creates the same objects as beside, without a confirmation of the cluster.
func sentBeside(t *testing.T) (app *argocd.Application, dependencies []types.NamespacedName) {
	t.Helper()
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t)
	app = webApp(t, c, p.Name, repo).Annotation(apis.AnnotationWith, "secret/db").Finalizers(apis.FinalizerResources).Obj()
	secretIn(t, app.Namespace, "db", true)
	create(t, app)
	dependencies = []types.NamespacedName{
		dependency.ProjectKey(c.Name, p.Name), dependency.CredentialKey(c.Name, s.Name), dependency.ObjectsKey(work.Key(app)),
	}
	for _, key := range dependencies {
		expectDependency(t, key, func(Gomega, *workv1.ManifestWork) {})
	}
	return app, dependencies
}

// TestReleaseLeavesDependencies: the dependencies stay on the cluster with the released Application, for every kind of
// release. The Application's own work is deleted last, because it tells the dependencies until then.
func TestReleaseLeavesDependencies(t *testing.T) {
	start(t)
	for title, slip := range slips {
		t.Run(title, func(t *testing.T) {
			app, keys := beside(t)
			before := app.DeepCopy()
			edit(t, app, slip)
			own := expectReleasing(t, before)
			for _, key := range keys {
				expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
					stays(g, w)
					g.Expect(dependency.ReleasedTo(w)).To(ConsistOf(client.ObjectKeyFromObject(app)))
				})
			}
			applied(t, own)
			settledBeside(t)
			NewWithT(t).Expect(workOf(t, before)).NotTo(BeNil(), "the cluster has not released the dependencies")
			for _, key := range keys {
				answer(t, key, metav1.ConditionTrue, "")
			}
			expectNoWork(t, before)
			for _, key := range keys {
				expectNoDependency(t, key)
			}
		})
	}
}

// TestDependenciesOfAReleasedNeighbour: the shared dependencies of a released Application stay after the end of the
// other Applications. Towline forgets the release when the Application is managed again.
func TestDependenciesOfAReleasedNeighbour(t *testing.T) {
	start(t)
	app, keys := beside(t)
	credential := keys[1]
	other := webApp(t, cluster(t), "default", "https://x").Obj()
	other.Annotations[apis.AnnotationCluster] = app.Cluster()
	other.Spec = app.Spec
	create(t, other)
	expectWork(t, other)
	letGo := func() {
		edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
		own := expectReleasing(t, app)
		for _, key := range keys {
			answerLeft(t, key)
		}
		applied(t, own)
		expectNoWork(t, app)
	}
	letGo()
	expectDependency(t, credential, stays)
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationRelease) })
	expectWork(t, app)
	expectDependency(t, credential, goes)
	for _, key := range keys { // the confirmation of the first release must not count for the second release
		expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.ReleasedTo(w)).To(BeEmpty()) })
	}
	letGo()
	remove(t, other)
	expectNoWork(t, other)
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return dependencyWork(t, credential) }, soon, tick).Should(
		Or(BeNil(), HaveField("Spec.DeleteOption.PropagationPolicy", workv1.DeletePropagationPolicyTypeOrphan)))
	expectNoDependency(t, credential)
}

// TestWithdrawnCredentialGoes: a withdrawal by the Secret's owner has effect, also for a released Application.
func TestWithdrawnCredentialGoes(t *testing.T) {
	start(t)
	app, keys := beside(t)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	expectReleasing(t, app)
	expectDependency(t, keys[1], stays)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: strings.TrimSuffix(keys[1].Name, ".credential.towline")}}
	edit(t, s, func(s *corev1.Secret) { s.Annotations = nil })
	expectDependency(t, keys[1], func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(w.Spec.DeleteOption).To(HaveValue(HaveField("PropagationPolicy", workv1.DeletePropagationPolicyTypeForeground)))
		g.Expect(w.Annotations).NotTo(HaveKey(apis.AnnotationReleasedTo))
	})
	answer(t, keys[1], metav1.ConditionTrue, "")
	expectNoDependency(t, keys[1])
}

// TestReleaseOfARefusedDependency: the agent cannot apply the dependency, and releases the dependency all the same.
func TestReleaseOfARefusedDependency(t *testing.T) {
	start(t)
	app, keys := beside(t)
	objects := keys[2]
	answer(t, objects, metav1.ConditionFalse, "conflict")
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
	own := expectReleasing(t, app)
	expectDependency(t, objects, func(g Gomega, w *workv1.ManifestWork) {
		stays(g, w)
		g.Expect(w.Spec.ManifestConfigs[0].UpdateStrategy.Type).To(Equal(workv1.UpdateStrategyTypeCreateOnly))
	})
	applied(t, own)
	for _, key := range keys {
		answerLeft(t, key)
	}
	expectNoWork(t, app)
	expectNoDependency(t, objects)
}

// TestTakingBackARefusedDependency: the agent never owned the refused dependency, and must not own it when the
// Application is managed again. The rule holds even if the work changes or ends.
func TestTakingBackARefusedDependency(t *testing.T) {
	start(t)
	for title, tc := range map[string]struct {
		with string
		as   func(g Gomega, w *workv1.ManifestWork)
	}{
		"it goes": {"", func(g Gomega, w *workv1.ManifestWork) {
			g.Expect(w.Spec.DeleteOption).To(HaveValue(HaveField("PropagationPolicy", workv1.DeletePropagationPolicyTypeForeground)))
		}},
		"it stays as it was": {"nonsense", goes},
	} {
		t.Run(title, func(t *testing.T) {
			app, keys := beside(t)
			objects := keys[2]
			before := dependencyWork(t, objects).Spec.ManifestConfigs
			answer(t, objects, metav1.ConditionFalse, "conflict")
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRelease] = "true" })
			expectReleasing(t, app)
			expectDependency(t, objects, stays)
			edit(t, app, func(a *argocd.Application) {
				delete(a.Annotations, apis.AnnotationRelease)
				a.Annotations[apis.AnnotationWith] = tc.with
			})
			expectDependency(t, objects, func(g Gomega, w *workv1.ManifestWork) {
				tc.as(g, w)
				g.Expect(w.Spec.ManifestConfigs).To(Equal(before), "applied without force")
			})
		})
	}
}

// TestDependenciesWhileARequestIsOnItsWay: during a requested operation, the Application's work does not tell the
// dependencies in use on the cluster.
func TestDependenciesWhileARequestIsOnItsWay(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t)
	app := webApp(t, c, p.Name, repo).Obj()
	create(t, app)
	project, credential := dependency.ProjectKey(c.Name, p.Name), dependency.CredentialKey(c.Name, s.Name)
	expectDependency(t, project, carries("sourceNamespaces"))
	expectDependency(t, credential, carries(secretWith(t, password)))
	report(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{}}`)
	sentOperation(t, app, "")
	edit(t, app, func(a *argocd.Application) {
		a.Spec = runtime.RawExtension{Raw: []byte(specOf("default", "https://x.example.com"))}
	})
	settledBeside(t)
	for _, key := range []types.NamespacedName{project, credential} {
		NewWithT(t).Expect(carriedBy(dependencyWork(t, key))).To(Or(ContainSubstring("sourceNamespaces"), ContainSubstring("password")))
	}
	applied(t, workOf(t, app))
	expectNoDependency(t, credential)
	expectDependency(t, project, func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(carriedBy(w)).NotTo(ContainSubstring("sourceNamespaces"))
	})
}
