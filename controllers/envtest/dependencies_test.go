package envtest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// argocdNamespace is the namespace of the hub's Argo CD.
	argocdNamespace = controllers.DefaultArgoCDNamespace

	// clusterArgoCD is the namespace of Argo CD on the clusters.
	clusterArgoCD = "cluster-argocd"
)

// password may appear only in Secrets and in the works for Secrets.
const password = "correct-horse-battery-staple"

// specOf returns an Application's spec with the AppProject and the repository. The destination is the namespace web.
func specOf(project, repo string) string {
	return fmt.Sprintf(`{"project":%q,"source":{"repoURL":%q,"path":"."},"destination":{"server":%q,"namespace":"web"}}`,
		project, repo, apis.InClusterServer)
}

// webApp returns a builder for an Application in its own namespace.
func webApp(t *testing.T, c *clusterv1.ManagedCluster, project, repo string) *fixture.ApplicationBuilder {
	t.Helper()
	return fixture.Application(unique("web")).Namespace(namespace(t, unique("apps"))).Cluster(c.Name).Spec(specOf(project, repo))
}

// appProject creates an AppProject that permits all sources and destinations.
func appProject(t *testing.T, edits ...func(*argocd.AppProject)) *argocd.AppProject {
	t.Helper()
	p := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: unique("project")}}
	p.Spec.SourceRepos = []string{"*"}
	p.Spec.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "*"}}
	p.Spec.SourceNamespaces = []string{"*"}
	for _, edit := range edits {
		edit(p)
	}
	create(t, p)
	return p
}

// repoSecret creates a Secret for a new repository, and returns the address of the repository.
func repoSecret(t *testing.T, edits ...func(*corev1.Secret)) (s *corev1.Secret, repo string) {
	t.Helper()
	repo = "https://" + unique("git") + ".example.com/apps.git"
	s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: argocdNamespace, Name: unique("repo"),
		Labels:      map[string]string{apis.LabelSecretType: apis.SecretTypeRepository},
		Annotations: map[string]string{apis.AnnotationPropagate: "true"},
	}}
	s.Data = map[string][]byte{"url": []byte(repo), "password": []byte(password)}
	for _, edit := range edits {
		edit(s)
	}
	create(t, s)
	return s, repo
}

// dependencyWork returns the work of a dependency, or nil if no work exists.
func dependencyWork(t *testing.T, key types.NamespacedName) *workv1.ManifestWork {
	t.Helper()
	return get(t, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
}

// expectDependency waits until the check passes for the work of a dependency, and returns the work.
func expectDependency(t *testing.T, key types.NamespacedName, as func(g Gomega, w *workv1.ManifestWork)) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func(g Gomega) {
		w = dependencyWork(t, key)
		g.Expect(w).NotTo(BeNil(), "no ManifestWork %s", key)
		as(g, w)
	}, soon, tick).Should(Succeed())
	return w
}

func carries(says string) func(Gomega, *workv1.ManifestWork) {
	return func(g Gomega, w *workv1.ManifestWork) { g.Expect(carriedBy(w)).To(ContainSubstring(says)) }
}

// carriedBy returns the JSON of all manifests of a work; empty without a work.
func carriedBy(w *workv1.ManifestWork) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, m := range w.Spec.Workload.Manifests {
		b.Write(m.Raw)
	}
	return b.String()
}

// secretWith returns the part of a work for a Secret with the value under the key "password".
func secretWith(t *testing.T, value string) string {
	t.Helper()
	raw, err := json.Marshal(map[string][]byte{"password": []byte(value)})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(raw), "{}")
}

func expectNoDependency(t *testing.T, key types.NamespacedName) {
	t.Helper()
	NewWithT(t).Eventually(func() *workv1.ManifestWork { return dependencyWork(t, key) }, soon, tick).Should(BeNil())
}

// neverDependency checks that the dependency has no work after the Applications have their works.
func neverDependency(t *testing.T, key types.NamespacedName, after ...*argocd.Application) {
	t.Helper()
	for _, app := range after {
		expectWork(t, app)
	}
	settledBeside(t)
	if w := dependencyWork(t, key); w != nil {
		t.Fatalf("it was sent: %s", carriedBy(w))
	}
}

// answer sets the condition Applied of a work, as the agent would.
func answer(t *testing.T, key types.NamespacedName, status metav1.ConditionStatus, message string) {
	t.Helper()
	editStatus(t, dependencyWork(t, key), func(w *workv1.ManifestWork) {
		c := metav1.Condition{Type: workv1.WorkApplied, Status: status, Reason: "Test", Message: message, ObservedGeneration: w.Generation}
		meta.SetStatusCondition(&w.Status.Conditions, c)
		c.LastTransitionTime = metav1.Now()
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{Conditions: []metav1.Condition{c}}}
	})
}

func TestProjectTravelsOnceToEachCluster(t *testing.T) {
	towline := start(t)
	p, a, b := appProject(t), cluster(t), cluster(t)
	for _, c := range []*clusterv1.ManagedCluster{a, a, a, b} {
		app := webApp(t, c, p.Name, "https://git.example.com/x").Obj()
		create(t, app)
		expectWork(t, app)
	}
	keys := []types.NamespacedName{dependency.ProjectKey(a.Name, p.Name), dependency.ProjectKey(b.Name, p.Name)}
	for _, key := range keys {
		expectDependency(t, key, carries(`"namespace":"`+clusterArgoCD+`"`))
	}
	towline.countAnew(t)
	edit(t, p, func(p *argocd.AppProject) {
		p.Spec.Raw, p.Spec.SourceRepos = nil, []string{"*", "https://changed.example.com/*"}
	})
	for _, key := range keys {
		expectDependency(t, key, carries("https://changed.example.com/*"))
	}
	if made := towline.made(t); len(made) != 2 {
		t.Errorf("a change of a project of four Applications on two clusters took the writes %q", made)
	}
}

// TestProjectGoesAhead: on each cluster, the works of an AppProject and of a namespace exist before the first work of an
// Application. Argo CD refuses an Application without its AppProject, and repeats an automated sync ten seconds later.
func TestProjectGoesAhead(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Dependencies.Namespaces = true })
	p := appProject(t)
	first := map[string][]string{} // the names of the works in the order of their creation, by cluster
	var clusters []*clusterv1.ManagedCluster
	for range 5 {
		c := cluster(t)
		clusters, first[c.Name] = append(clusters, c), nil
	}
	watcher, err := client.NewWithWatch(hub, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	works, err := watcher.Watch(t.Context(), &workv1.ManifestWorkList{})
	if err != nil {
		t.Fatal(err)
	}
	defer works.Stop()
	const each, ahead = 3, 2
	for range each {
		for _, c := range clusters {
			create(t, webApp(t, c, p.Name, "https://git.example.com/x").Annotation(apis.AnnotationAppNamespace, "team-a").Obj())
		}
	}
	late := time.After(soon)
	for complete := 0; complete < len(clusters); {
		select {
		case e, open := <-works.ResultChan():
			w, is := e.Object.(*workv1.ManifestWork)
			if !open || !is {
				t.Fatalf("the watch has ended: %v", e.Object)
			}
			if _, ours := first[w.Namespace]; !ours || e.Type != watch.Added {
				continue
			}
			if first[w.Namespace] = append(first[w.Namespace], w.Name); len(first[w.Namespace]) == each+ahead {
				complete++
			}
		case <-late:
			t.Fatalf("works are missing: %v", first)
		}
	}
	for name, works := range first {
		want := []string{dependency.ProjectKey(name, p.Name).Name, dependency.NamespaceKey(name, "team-a").Name}
		if got := slices.Sorted(slices.Values(works[:ahead])); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("cluster %s: %s", name, works)
		}
	}
}

func TestClusterWithAnotherArgoCDNamespace(t *testing.T) {
	start(t)
	p := appProject(t)
	c := cluster(t, func(c *clusterv1.ManagedCluster) {
		c.Annotations = map[string]string{apis.AnnotationArgoCDNamespace: "openshift-gitops"}
	})
	create(t, webApp(t, c, p.Name, "https://git.example.com/x").Obj())
	key := dependency.ProjectKey(c.Name, p.Name)
	expectDependency(t, key, carries(`"namespace":"openshift-gitops"`))
	edit(t, c, func(c *clusterv1.ManagedCluster) { delete(c.Annotations, apis.AnnotationArgoCDNamespace) })
	expectDependency(t, key, carries(`"namespace":"`+clusterArgoCD+`"`))
}

func TestProjectsThatStayOnTheHub(t *testing.T) {
	start(t)
	c := cluster(t)
	kept := appProject(t, func(p *argocd.AppProject) { p.Annotations = map[string]string{apis.AnnotationPropagate: "false"} })
	one, two := webApp(t, c, kept.Name, "https://x").Obj(), webApp(t, c, "default", "https://x").Obj()
	create(t, one)
	create(t, two)
	neverDependency(t, dependency.ProjectKey(c.Name, kept.Name), one, two)
	neverDependency(t, dependency.ProjectKey(c.Name, "default"))
	edit(t, kept, func(p *argocd.AppProject) { p.Annotations = nil })
	expectDependency(t, dependency.ProjectKey(c.Name, kept.Name), carries("sourceNamespaces"))
	edit(t, kept, func(p *argocd.AppProject) { p.Annotations = map[string]string{apis.AnnotationPropagate: "false"} })
	expectDependency(t, dependency.ProjectKey(c.Name, kept.Name), stays)
	settledBeside(t)
	g := NewWithT(t)
	w := dependencyWork(t, dependency.ProjectKey(c.Name, kept.Name))
	g.Expect(w).NotTo(BeNil(), "until the cluster knows that the project stays")
	stays(g, w)
	answer(t, dependency.ProjectKey(c.Name, kept.Name), metav1.ConditionTrue, "")
	expectNoDependency(t, dependency.ProjectKey(c.Name, kept.Name)) // the AppProject on the cluster stays unchanged, because its Applications run
}

func TestProjectThatNobodyUsesAnyMore(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	one, two := webApp(t, c, p.Name, "https://x").Obj(), webApp(t, c, p.Name, "https://x").Obj()
	create(t, one)
	create(t, two)
	expectWork(t, two)
	key := dependency.ProjectKey(c.Name, p.Name)
	expectDependency(t, key, carries("sourceNamespaces"))
	expectWork(t, one)
	hold(t, workOf(t, two)) // the cluster has not finished the removal of the second Application
	remove(t, one)
	remove(t, two)
	expectNoWork(t, one)
	settledBeside(t)
	NewWithT(t).Expect(carriedBy(dependencyWork(t, key))).To(ContainSubstring("sourceNamespaces"))
	release(t, workOf(t, two))
	w := expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(carriedBy(w)).NotTo(ContainSubstring("sourceNamespaces"), "rights that the hub does not take back any more")
		g.Expect(carriedBy(w)).To(ContainSubstring("sourceRepos"))
	})
	if w.Spec.DeleteOption == nil || w.Spec.DeleteOption.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan {
		t.Error("the project would go with the work")
	}
	settledBeside(t)
	NewWithT(t).Expect(dependencyWork(t, key)).NotTo(BeNil(), "until the cluster knows")
	answer(t, key, metav1.ConditionTrue, "")
	expectNoDependency(t, key)
}

// hold keeps a deleted work with a finalizer, as the agent does; release removes the finalizer.
func hold(t *testing.T, w *workv1.ManifestWork) {
	t.Helper()
	edit(t, w, func(w *workv1.ManifestWork) { w.Finalizers = []string{"test.towline.io/agent"} })
}

func TestCredentialFollowsItsRepository(t *testing.T) {
	towline := start(t)
	s, repo := repoSecret(t)
	a, b := cluster(t), cluster(t)
	user, other := webApp(t, a, "default", strings.ToUpper(repo)).Obj(), webApp(t, b, "default", "https://other.example.com").Obj()
	create(t, user)
	create(t, other)
	key := dependency.CredentialKey(a.Name, s.Name)
	w := expectDependency(t, key, carries(secretWith(t, password)))
	if c := carriedBy(w); !strings.Contains(c, `"name":"towline-`+s.Name+`"`) || !strings.Contains(c, `"namespace":"`+clusterArgoCD+`"`) {
		t.Errorf("it goes to %s", c)
	}
	neverDependency(t, dependency.CredentialKey(b.Name, s.Name), other)

	towline.countAnew(t)
	began := time.Now()
	edit(t, s, func(s *corev1.Secret) { s.Data["password"] = []byte("rotated") })
	expectDependency(t, key, carries(secretWith(t, "rotated")))
	t.Logf("a rotation reached the work after %s", time.Since(began))
	if made := towline.made(t); len(made) != 1 {
		t.Errorf("a rotation made the writes %q", made)
	}

	second := webApp(t, a, "default", repo).Obj()
	create(t, second)
	expectWork(t, second)
	remove(t, user)
	expectNoWork(t, user)
	settledBeside(t)
	NewWithT(t).Expect(dependencyWork(t, key)).NotTo(BeNil())
	edit(t, second, func(app *argocd.Application) {
		app.Spec = runtime.RawExtension{Raw: []byte(specOf("default", "https://x.example.com"))}
	})
	expectNoDependency(t, key)
}

func TestCredentialNeedsItsOwnersConsent(t *testing.T) {
	start(t)
	c := cluster(t)
	s, repo := repoSecret(t, func(s *corev1.Secret) { s.Annotations = nil })
	app := webApp(t, c, "default", repo).Obj()
	create(t, app)
	key := dependency.CredentialKey(c.Name, s.Name)
	neverDependency(t, key, app)
	edit(t, s, func(s *corev1.Secret) { s.Annotations = map[string]string{apis.AnnotationPropagate: "true"} })
	expectDependency(t, key, carries(secretWith(t, password)))
	edit(t, s, func(s *corev1.Secret) { s.Annotations = nil })
	expectNoDependency(t, key)
}

func TestCredentialOfAProject(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t, func(s *corev1.Secret) { s.Data["project"] = []byte(p.Name) })
	foreign := webApp(t, c, "default", repo).Obj()
	create(t, foreign)
	key := dependency.CredentialKey(c.Name, s.Name)
	neverDependency(t, key, foreign)
	create(t, webApp(t, c, p.Name, repo).Obj())
	expectDependency(t, key, carries(secretWith(t, password)))
}

func TestLongestPrefixOfCredentials(t *testing.T) {
	start(t)
	c := cluster(t)
	prefix := func(path string) (*corev1.Secret, string) {
		return repoSecret(t, func(s *corev1.Secret) {
			s.Labels[apis.LabelSecretType] = apis.SecretTypeRepoCreds
			s.Data["url"] = []byte("https://longest.example.com" + path)
		})
	}
	all, _ := prefix("")
	app := webApp(t, c, "default", "https://longest.example.com/team/apps").Obj()
	create(t, app)
	expectDependency(t, dependency.CredentialKey(c.Name, all.Name), carries(secretWith(t, password)))
	team, _ := prefix("/team")
	expectDependency(t, dependency.CredentialKey(c.Name, team.Name), carries(secretWith(t, password)))
	expectNoDependency(t, dependency.CredentialKey(c.Name, all.Name))
	if err := k8s.Delete(t.Context(), team); err != nil {
		t.Fatal(err)
	}
	expectDependency(t, dependency.CredentialKey(c.Name, all.Name), carries(secretWith(t, password)))
	expectNoDependency(t, dependency.CredentialKey(c.Name, team.Name))
}

// TestForgedUseOfARepository: a cluster that rewrites its works gets no new credential from the hub, and no rotated
// value of an earlier credential.
func TestForgedUseOfARepository(t *testing.T) {
	start(t)
	s, repo := repoSecret(t)
	c := cluster(t)
	app := webApp(t, c, "default", "https://x.example.com").Obj()
	create(t, app)
	w := expectWork(t, app)
	forged := fixture.Application("forged").Spec(specOf("default", repo)).Obj()
	raw, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	// No Application on the hub has this work name, so Towline does not repair the work.
	fake := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: c.Name, Name: "forged-12345", Labels: w.Labels, Annotations: w.Annotations}}
	fake.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
	create(t, fake)
	key := dependency.CredentialKey(c.Name, s.Name)
	neverDependency(t, key, app)

	user := webApp(t, c, "default", repo).Obj()
	create(t, user)
	expectDependency(t, key, carries(secretWith(t, password)))
	remove(t, user)
	expectNoWork(t, user)
	edit(t, s, func(s *corev1.Secret) { s.Data["password"] = []byte("rotated") })
	settledBeside(t)
	if w := dependencyWork(t, key); w != nil {
		NewWithT(t).Expect(carriedBy(w)).NotTo(ContainSubstring(secretWith(t, "rotated")))
	}
}

// TestForbiddenApplicationPullsNothing: an Application that names a forbidden repository does not get the credential of
// the repository. The same holds for a change of a delivered Application.
func TestForbiddenApplicationPullsNothing(t *testing.T) {
	start(t)
	s, repo := repoSecret(t)
	c := cluster(t)
	p := appProject(t, func(p *argocd.AppProject) { p.Spec.SourceRepos = []string{"https://ok.example.com/*"} })
	forbidden, changed := webApp(t, c, p.Name, repo).Obj(), webApp(t, c, p.Name, "https://ok.example.com/a").Obj()
	create(t, forbidden)
	create(t, changed)
	expectWork(t, changed)
	expectDependency(t, dependency.ProjectKey(c.Name, p.Name), carries("https://ok.example.com/*"))
	edit(t, changed, func(app *argocd.Application) { app.Spec = runtime.RawExtension{Raw: []byte(specOf(p.Name, repo))} })
	for _, app := range []*argocd.Application{forbidden, changed} {
		NewWithT(t).Eventually(func() bool {
			_, there := condition(t, app, apis.ConditionPropagationForbiddenError)
			return there
		}, soon, tick).Should(BeTrue())
	}
	neverDependency(t, dependency.CredentialKey(c.Name, s.Name))

	// A repository that the AppProject no longer permits is not permitted on the cluster either.
	edit(t, p, func(p *argocd.AppProject) {
		p.Spec.Raw, p.Spec.SourceRepos = nil, []string{"https://narrow.example.com/*"}
	})
	expectDependency(t, dependency.ProjectKey(c.Name, p.Name), carries("https://narrow.example.com/*"))
	edit(t, p, func(p *argocd.AppProject) { p.Spec.Raw, p.Spec.SourceRepos = nil, []string{"*"} })
	expectDependency(t, dependency.CredentialKey(c.Name, s.Name), carries(secretWith(t, password)))
}

// TestDependenciesBesideAForbiddenOperation: Towline holds back only the operation and the dependencies of its
// repository. All other dependencies are sent.
func TestDependenciesBesideAForbiddenOperation(t *testing.T) {
	start(t)
	mine, repo := repoSecret(t)
	other, forbidden := repoSecret(t)
	c := cluster(t)
	p := appProject(t, func(p *argocd.AppProject) { p.Spec.SourceRepos = []string{repo} })
	app := webApp(t, c, p.Name, repo).Obj()
	create(t, app)
	credential, none := dependency.CredentialKey(c.Name, mine.Name), dependency.CredentialKey(c.Name, other.Name)
	expectDependency(t, credential, carries(secretWith(t, password)))
	expectWork(t, app)
	request(t, app, fmt.Sprintf(`{"sync":{"source":{"repoURL":%q}}}`, forbidden))
	NewWithT(t).Eventually(func() bool {
		_, there := condition(t, app, apis.ConditionPropagationForbiddenError)
		return there
	}, soon, tick).Should(BeTrue())
	for _, s := range []*corev1.Secret{mine, other} {
		edit(t, s, func(s *corev1.Secret) { s.Data["password"] = []byte("rotated") })
	}
	expectDependency(t, credential, carries(secretWith(t, "rotated")))
	edit(t, p, func(p *argocd.AppProject) { p.Annotations = map[string]string{"note": "x"} })
	expectDependency(t, dependency.ProjectKey(c.Name, p.Name), carries(`"note":"x"`))
	edit(t, app, func(a *argocd.Application) { a.Annotations["note"] = "x" }) // leads to a new check of all dependencies
	neverDependency(t, none, app)

	edit(t, p, func(p *argocd.AppProject) { p.Spec.Raw, p.Spec.SourceRepos = nil, []string{repo, forbidden} })
	expectDependency(t, none, carries(secretWith(t, "rotated")))
}

func TestDependencyIsRepaired(t *testing.T) {
	start(t)
	s, repo := repoSecret(t)
	c := cluster(t)
	create(t, webApp(t, c, "default", repo).Obj())
	key := dependency.CredentialKey(c.Name, s.Name)
	w := expectDependency(t, key, carries(secretWith(t, password)))
	edit(t, w, func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests, w.Spec.ManifestConfigs = nil, nil
		w.Annotations = map[string]string{apis.AnnotationHubNamespace: "x", apis.AnnotationHubName: "y"}
	})
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
		carries(secretWith(t, password))(g, w)
		g.Expect(w.Annotations).To(BeEmpty())
	})
	if err := k8s.Delete(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	expectDependency(t, key, func(g Gomega, now *workv1.ManifestWork) { g.Expect(now.UID).NotTo(Equal(w.UID)) })
}

// objectsApp creates an Application in its own namespace, with the given list of objects in the annotation.
func objectsApp(t *testing.T, c *clusterv1.ManagedCluster, with string) *argocd.Application {
	t.Helper()
	app := application(t, c).Annotation(apis.AnnotationWith, with).Obj()
	create(t, app)
	return app
}

func secretIn(t *testing.T, namespace, name string, may bool) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Data = map[string][]byte{"password": []byte(password)}
	if may {
		s.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
	}
	create(t, s)
	return s
}

// expectTrouble waits until the Application's DependencyError contains the text. Empty: until the condition is absent.
func expectTrouble(t *testing.T, app *argocd.Application, says string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		message, there := condition(t, app, apis.ConditionDependencyError)
		g.Expect(message).To(ContainSubstring(says))
		g.Expect(there).To(Equal(says != ""))
	}, soon, tick).Should(Succeed())
}

func TestObjectsTravelBesideTheirApplication(t *testing.T) {
	start(t)
	app := objectsApp(t, cluster(t), "secret/db,configmap/settings")
	key := dependency.ObjectsKey(work.Key(app))
	expectTrouble(t, app, "the hub has no secret/db in namespace "+app.Namespace)
	s := secretIn(t, app.Namespace, "db", false)
	expectTrouble(t, app, "secret/db in namespace "+app.Namespace+" may not be sent to clusters")
	edit(t, s, func(s *corev1.Secret) { s.Annotations = map[string]string{apis.AnnotationPropagate: "true"} })
	expectDependency(t, key, carries(`"namespace":"guestbook"`))
	expectTrouble(t, app, "the hub has no configmap/settings")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "settings"}, Data: map[string]string{"color": "blue"}}
	config.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
	create(t, config)
	expectDependency(t, key, carries(`"color":"blue"`))
	expectTrouble(t, app, "")
	edit(t, config, func(c *corev1.ConfigMap) { c.Data["color"] = "green" })
	expectDependency(t, key, carries(`"color":"green"`))
	edit(t, s, func(s *corev1.Secret) { s.Annotations = nil })
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(carriedBy(w)).NotTo(ContainSubstring("password"))
		g.Expect(carriedBy(w)).To(ContainSubstring("green"))
	})
	if strings.Contains(fmt.Sprint(get(t, app).Status.Conditions, eventReasons(t, app)), password) {
		t.Error("a condition tells the password")
	}

	own := expectWork(t, app)
	hold(t, own)
	remove(t, app)
	NewWithT(t).Eventually(func() bool { return workOf(t, app).DeletionTimestamp.IsZero() }, soon, tick).Should(BeFalse())
	settledBeside(t)
	NewWithT(t).Expect(dependencyWork(t, key)).NotTo(BeNil(), "what still runs needs it")
	release(t, own)
	expectNoDependency(t, key)
}

// TestObjectsWithTargets: objects get a different name on the cluster, or a different namespace permitted by the
// AppProject. Two Applications of a namespace cannot overwrite each other's objects.
func TestObjectsWithTargets(t *testing.T) {
	start(t)
	c := cluster(t)
	app := objectsApp(t, c, "secret/db=other/credentials,secret/db")
	secretIn(t, app.Namespace, "db", true)
	expectDependency(t, dependency.ObjectsKey(work.Key(app)), func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(carriedBy(w)).To(MatchRegexp(`"name":"credentials","namespace":"other"`))
		g.Expect(carriedBy(w)).To(MatchRegexp(`"name":"db","namespace":"guestbook"`))
	})
	w := dependencyWork(t, dependency.ObjectsKey(work.Key(app)))
	expectTrouble(t, app, "")
	managers := map[string]bool{}
	for _, config := range w.Spec.ManifestConfigs {
		if config.UpdateStrategy.ServerSideApply.Force {
			t.Errorf("%v overwrites what others have", config.ResourceIdentifier)
		}
		managers[config.UpdateStrategy.ServerSideApply.FieldManager] = true
	}
	if len(managers) != 2 {
		t.Errorf("what is named anew has the manager of what has that name on the hub: %v", managers)
	}
	only := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "web"}}
	})
	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(specOf(only.Name, "https://x")) })
	expectTrouble(t, app, "does not permit namespace other of cluster "+c.Name)
	expectDependency(t, dependency.ObjectsKey(work.Key(app)), func(g Gomega, w *workv1.ManifestWork) {
		g.Expect(carriedBy(w)).NotTo(ContainSubstring("credentials"))
	})
}

func TestObjectsThatCannotTravel(t *testing.T) {
	start(t)
	c := cluster(t)
	forbids := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Raw = json.RawMessage(`{"sourceRepos":["*"],"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}],` +
			`"namespaceResourceBlacklist":[{"group":"","kind":"Secret"}]}`)
	})
	for title, tc := range map[string]struct {
		with, spec, says string
	}{
		"another kind":      {with: "deployment/x", says: "neither secret/NAME nor configmap/NAME"},
		"another namespace": {with: "secret/argocd/argocd-secret", says: "is not a valid name of a Secret"},
		"no destination namespace": {
			with: "secret/db",
			spec: `{"project":"default","source":{"repoURL":"https://x","path":"."},"destination":{"server":"` + apis.InClusterServer + `"}}`,
			says: "set spec.destination.namespace"},
		"the project forbids it": {with: "secret/db", spec: specOf(forbids.Name, "https://x"), says: "does not permit objects of kind Secret"},
		"too large":              {with: "configmap/large,configmap/large-too", says: "a ManifestWork holds 512000"},
	} {
		t.Run(title, func(t *testing.T) {
			b := application(t, c).Annotation(apis.AnnotationWith, tc.with)
			if tc.spec != "" {
				b.Spec(tc.spec)
			}
			app := b.Obj()
			secretIn(t, app.Namespace, "db", true)
			for _, name := range []string{"large", "large-too"} {
				large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: name}}
				large.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
				large.Data = map[string]string{"x": strings.Repeat("x", 300<<10)}
				create(t, large)
			}
			create(t, app)
			expectTrouble(t, app, tc.says)
			neverDependency(t, dependency.ObjectsKey(work.Key(app)), app)
		})
	}
}

func TestObjectsAreOffUnlessAskedFor(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Dependencies.Objects = false })
	app := objectsApp(t, cluster(t), "secret/db")
	secretIn(t, app.Namespace, "db", true)
	expectTrouble(t, app, "--propagate=app-projects,namespaces,objects")
	expectWork(t, app)
	settled(t)
	NewWithT(t).Expect(dependencyWork(t, dependency.ObjectsKey(work.Key(app)))).To(BeNil())
}

func TestClusterThatRefusesADependency(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t)
	app := webApp(t, c, p.Name, repo).Obj()
	create(t, app)
	key := dependency.ProjectKey(c.Name, p.Name)
	expectDependency(t, key, carries("sourceRepos"))
	credential := dependency.CredentialKey(c.Name, s.Name)
	expectDependency(t, credential, carries(secretWith(t, password)))
	answer(t, key, metav1.ConditionFalse, "conflict with \"kubectl\": .spec.description")
	expectTrouble(t, app, `conflict with "kubectl": .spec.description`)
	NewWithT(t).Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(apis.ReasonDependencyRefused))
	answer(t, key, metav1.ConditionTrue, "")
	expectTrouble(t, app, "")
	answer(t, credential, metav1.ConditionFalse, "invalid: "+password)
	expectTrouble(t, app, "see the status of ManifestWork "+credential.String())
	if message, _ := condition(t, app, apis.ConditionDependencyError); strings.Contains(message, password) {
		t.Errorf("the condition tells the password: %s", message)
	}
}

func TestApplicationThatCameBeforeItsProject(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	app := webApp(t, c, p.Name, "https://x.example.com").Obj()
	create(t, app)
	key := dependency.ProjectKey(c.Name, p.Name)
	expectDependency(t, key, carries("sourceRepos"))
	const missing = "Application referencing project x which does not exist"
	report(t, app, feedbackOf(app).String("healthStatus", "Unknown").String("conditionInvalidSpecError", missing))
	settledBeside(t)
	NewWithT(t).Expect(get(t, app).Annotations).NotTo(HaveKey(apis.AnnotationRefresh), "there is nothing new to see yet")
	answer(t, key, metav1.ConditionTrue, "")
	NewWithT(t).Eventually(func() string { return get(t, app).Annotations[apis.AnnotationRefresh] }, soon, tick).Should(Equal("normal"))
	edit(t, app, func(app *argocd.Application) { delete(app.Annotations, apis.AnnotationRefresh) })
	settledBeside(t)
	NewWithT(t).Expect(get(t, app).Annotations).NotTo(HaveKey(apis.AnnotationRefresh), "asked once")
}

func TestDependenciesAfterARestart(t *testing.T) {
	towline := start(t)
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t)
	app, gone := webApp(t, c, p.Name, repo).Obj(), webApp(t, c, p.Name, "https://x.example.com").Obj()
	create(t, app)
	create(t, gone)
	key := dependency.CredentialKey(c.Name, s.Name)
	expectDependency(t, key, carries(secretWith(t, password)))
	expectDependency(t, dependency.ProjectKey(c.Name, p.Name), carries("sourceRepos"))
	expectWork(t, gone)
	settledBeside(t) // the next Towline would otherwise do the pending writes
	towline.stop()
	towline = start(t)
	of := slices.DeleteFunc(towline.made(t), func(made string) bool { return !strings.Contains(made, c.Name) })
	NewWithT(t).Expect(of).To(BeEmpty())
	towline.stop()
	remove(t, app)
	start(t, hasty)
	expectNoDependency(t, key)
}

// TestSecretsAreKnownFromTheStart: the first reconcile reads the Secrets of the hub's Argo CD, possibly before the
// watch of the Secrets has begun.
func TestSecretsAreKnownFromTheStart(t *testing.T) {
	unshared(t)
	mgr, err := ctrl.NewManager(hub, ctrl.Options{
		Scheme: scheme, Cache: controllers.Cache(argocdNamespace, nil), NewClient: controllers.NewClient,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: settings(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := controllers.Add(t.Context(), mgr, controllers.Options{Enabled: controllers.Names, Concurrency: workers}); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { // starts the cache as the manager does, without controllers
		if err := mgr.GetCache().Start(t.Context()); err != nil {
			t.Errorf("cache: %v", err)
		}
	})
	t.Cleanup(done.Wait)
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache was not filled")
	}
	if err := mgr.GetClient().List(t.Context(), &corev1.SecretList{}, client.InNamespace(argocdNamespace)); err != nil {
		t.Error(err)
	}
}
