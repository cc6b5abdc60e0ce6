package controllers_test

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

// stays tells whether what a work carries outlives it on the cluster.
func stays(g Gomega, w *workv1.ManifestWork) {
	g.Expect(w.Spec.DeleteOption).To(HaveValue(HaveField("PropagationPolicy", workv1.DeletePropagationPolicyTypeOrphan)))
}

func goes(g Gomega, w *workv1.ManifestWork) { g.Expect(w.Spec.DeleteOption).To(BeNil()) }

// answerLeft says that the agent has applied that a dependency is left to an Application, once it is: an answer to what it
// said before would be none to that.
func answerLeft(t *testing.T, key types.NamespacedName) {
	t.Helper()
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.ReleasedTo(w)).NotTo(BeEmpty()) })
	answer(t, key, metav1.ConditionTrue, "")
}

// beside makes an Application of a project with a credential and a Secret beside it, and returns the works of all three.
// Its cluster has it, and has said so.
func beside(t *testing.T) (app *argocd.Application, dependencies []types.NamespacedName) {
	t.Helper()
	app, dependencies = sentBeside(t)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	return app, dependencies
}

// sentBeside does the same, and nobody answers.
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

// TestReleaseLeavesDependencies: what the Application uses stays on its cluster with it, whichever way it is released. Its own work
// goes last, so that it is known until then what it uses.
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

// TestDependenciesOfAReleasedNeighbour: what an Application that was released shares with others outlives those too. It
// is forgotten when the Application is managed again.
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
	for _, key := range keys { // what is said of the first time is not to be taken for the second
		expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.ReleasedTo(w)).To(BeEmpty()) })
	}
	letGo()
	remove(t, other)
	expectNoWork(t, other)
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return dependencyWork(t, credential) }, soon, tick).Should(
		Or(BeNil(), HaveField("Spec.DeleteOption.PropagationPolicy", workv1.DeletePropagationPolicyTypeOrphan)))
	expectNoDependency(t, credential)
}

// TestWithdrawnCredentialGoes: its owner's word counts, also for an Application that was released.
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

// TestReleaseOfWhatTheClusterRefused: the agent cannot apply it, and releases it all the same.
func TestReleaseOfWhatTheClusterRefused(t *testing.T) {
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

// TestTakingBackWhatTheClusterRefused: the agent never owned it, and does not come to because the Application is managed
// again, whatever becomes of the work.
func TestTakingBackWhatTheClusterRefused(t *testing.T) {
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

// TestDependenciesWhileARequestIsOnItsWay: the work does not tell then what the cluster uses.
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
