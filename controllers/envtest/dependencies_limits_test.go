package envtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// theHub creates a ManagedCluster for the hub itself.
func theHub(t *testing.T) *clusterv1.ManagedCluster {
	t.Helper()
	return cluster(t, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{apis.LabelLocalCluster: "true"} })
}

// TestOriginalsOnTheHubStay: on the hub as a managed cluster, dependencies do not overwrite their own originals.
func TestOriginalsOnTheHubStay(t *testing.T) {
	start(t, func(o *controllers.Options) { o.Dependencies.ClusterNamespace = argocdNamespace })
	c := theHub(t)
	p := appProject(t)
	s, repo := repoSecret(t)
	app := webApp(t, c, p.Name, repo).Annotation(apis.AnnotationAppNamespace, "elsewhere").Obj()
	create(t, app)
	neverDependency(t, dependency.ProjectKey(c.Name, p.Name), app)
	neverDependency(t, dependency.CredentialKey(c.Name, s.Name), app)
	edit(t, c, func(c *clusterv1.ManagedCluster) {
		c.Annotations = map[string]string{apis.AnnotationArgoCDNamespace: "second-argocd"}
	})
	expectDependency(t, dependency.ProjectKey(c.Name, p.Name), carries(`"namespace":"second-argocd"`))
	expectDependency(t, dependency.CredentialKey(c.Name, s.Name), carries(`"namespace":"second-argocd"`))
}

// TestObjectsThatAreOnTheHubAlready: the deletion of a work would delete the originals, so Towline does not send them.
func TestObjectsThatAreOnTheHubAlready(t *testing.T) {
	start(t)
	app := application(t, theHub(t)).Annotation(apis.AnnotationWith, "secret/db").Annotation(apis.AnnotationAppNamespace, "elsewhere").Obj()
	into := func(namespace string) []byte {
		return []byte(strings.ReplaceAll(specOf("default", "https://x"), "web", namespace))
	}
	app.Spec.Raw = into(app.Namespace)
	secretIn(t, app.Namespace, "db", true)
	create(t, app)
	key := dependency.ObjectsKey(work.Key(app))
	expectTrouble(t, app, "is the hub itself")
	neverDependency(t, key, app)
	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = into("elsewhere") })
	expectDependency(t, key, carries(`"namespace":"elsewhere"`))
	expectTrouble(t, app, "")
	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = into(app.Namespace) })
	expectTrouble(t, app, "is the hub itself")
	expectNoDependency(t, key) // the copies in the other namespace are not originals, and are deleted
}

// TestOriginalsOfAHubKnownLate: a cluster turned out to be the hub after Towline had sent the originals over
// themselves. The originals stay, even if the work changes or ends.
func TestOriginalsOfAHubKnownLate(t *testing.T) {
	start(t)
	for title, do := range map[string]func(t *testing.T, app *argocd.Application){
		"nothing else happens": func(*testing.T, *argocd.Application) {},
		"they are not named any more": func(t *testing.T, app *argocd.Application) {
			edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationWith) })
		},
		"they go elsewhere": func(t *testing.T, app *argocd.Application) {
			edit(t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(specOf("default", "https://x")) })
		},
		"their Application is deleted": func(t *testing.T, app *argocd.Application) {
			remove(t, app)
			expectNoWork(t, app)
		},
		"their Application is paused": func(t *testing.T, app *argocd.Application) {
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = "true" })
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := cluster(t)
			app := application(t, c).Annotation(apis.AnnotationWith, "secret/db").Annotation(apis.AnnotationAppNamespace, "elsewhere").Obj()
			app.Spec.Raw = []byte(strings.ReplaceAll(specOf("default", "https://x"), "web", app.Namespace))
			secretIn(t, app.Namespace, "db", true)
			create(t, app)
			key := dependency.ObjectsKey(work.Key(app))
			sent := expectDependency(t, key, carries(`"namespace":"`+app.Namespace+`"`))
			edit(t, c, func(c *clusterv1.ManagedCluster) {
				if c.Labels == nil {
					c.Labels = map[string]string{}
				}
				c.Labels[apis.LabelLocalCluster] = "true"
			})
			expectDependency(t, key, stays)
			do(t, app)
			settledBeside(t)
			g, w := NewWithT(t), dependencyWork(t, key)
			g.Expect(w).NotTo(BeNil(), "until the agent knows")
			g.Expect(w.UID).To(Equal(sent.UID))
			stays(g, w)
		})
	}
}

// TestPausedDependencies: Towline writes nothing for a paused Application, ApplicationSet or cluster. The pending
// changes follow after the pause.
func TestPausedDependencies(t *testing.T) {
	start(t)
	set := pausable(t)
	for title, pause := range map[string]func(app *argocd.Application, value string){
		"the Application": func(app *argocd.Application, value string) {
			edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationPaused] = value })
		},
		"its ApplicationSet": func(_ *argocd.Application, value string) { annotate(t, set, value) },
		"its cluster":        func(app *argocd.Application, value string) { annotate(t, managedCluster(app.Cluster()), value) },
	} {
		t.Run(title, func(t *testing.T) {
			s, repo := repoSecret(t)
			app := application(t, cluster(t)).Namespace(set.GetNamespace()).ApplicationSet(set.GetName()).
				Annotation(apis.AnnotationWith, "configmap/settings").Spec(specOf("default", repo)).Obj()
			app.Name = unique("web")
			settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "settings"}}
			settings.Annotations, settings.Data = map[string]string{apis.AnnotationPropagate: "true"}, map[string]string{"color": "blue"}
			create(t, settings)
			t.Cleanup(func() { _ = k8s.Delete(t.Context(), settings) })
			create(t, app)
			objects, credential := dependency.ObjectsKey(work.Key(app)), dependency.CredentialKey(app.Cluster(), s.Name)
			expectDependency(t, objects, carries("blue"))
			expectDependency(t, credential, carries(secretWith(t, password)))
			pause(app, "true")
			expectNotice(t, app, apis.ConditionPausedWarning, "paused")
			edit(t, settings, func(c *corev1.ConfigMap) { c.Data["color"] = "green" })
			edit(t, s, func(s *corev1.Secret) { s.Data["password"] = []byte("rotated") })
			settledBeside(t)
			NewWithT(t).Expect(carriedBy(dependencyWork(t, objects)) + carriedBy(dependencyWork(t, credential))).
				To(And(ContainSubstring("blue"), ContainSubstring(secretWith(t, password))))
			pause(app, "")
			expectDependency(t, objects, carries("green"))
			expectDependency(t, credential, carries(secretWith(t, "rotated")))
			remove(t, app)
			expectNoDependency(t, objects)
		})
	}
}

// TestExecutorOfObjects: the work of an Application's objects has the same executor as the work of the Application.
func TestExecutorOfObjects(t *testing.T) {
	start(t, func(o *controllers.Options) {
		o.Authorization.Executor = types.NamespacedName{Namespace: "towline", Name: "deployer"}
	})
	p := appProject(t, func(p *argocd.AppProject) {
		p.Annotations = map[string]string{apis.AnnotationExecutor: "tenants/web"}
	})
	c := cluster(t)
	for project, account := range map[string]string{"default": "towline/deployer", p.Name: "tenants/web"} {
		app := webApp(t, c, project, "https://x").Annotation(apis.AnnotationWith, "secret/db").Obj()
		secretIn(t, app.Namespace, "db", true)
		create(t, app)
		as := func(g Gomega, w *workv1.ManifestWork) {
			g.Expect(w.Spec.Executor).NotTo(BeNil())
			a := w.Spec.Executor.Subject.ServiceAccount
			g.Expect(a.Namespace + "/" + a.Name).To(Equal(account))
		}
		expectDependency(t, dependency.ObjectsKey(work.Key(app)), as)
		NewWithT(t).Eventually(func(g Gomega) { as(g, workOf(t, app)) }, soon, tick).Should(Succeed())
	}
}

// TestObjectsDoNotPassTheServiceAccounts: without an executor, the work agent would apply the objects with its own
// rights, past the ServiceAccounts of the AppProject. The objects are sent as soon as an executor limits the rights.
func TestObjectsDoNotPassTheServiceAccounts(t *testing.T) {
	start(t)
	p := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Raw = []byte(`{"sourceRepos":["*"],"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}],` +
			`"destinationServiceAccounts":[{"server":"*","namespace":"*","defaultServiceAccount":"web"}]}`)
	})
	app := webApp(t, cluster(t), p.Name, "https://x").Annotation(apis.AnnotationWith, "secret/db").Obj()
	secretIn(t, app.Namespace, "db", true)
	create(t, app)
	expectWork(t, app)
	expectNotice(t, app, apis.ConditionDependencyError, p.Name+" limits deployments to the rights of its spec.destinationServiceAccounts")
	key := dependency.ObjectsKey(work.Key(app))
	none := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if get(t, none.DeepCopy()) != nil {
		t.Error("the work agent was asked to apply the Secret with its own rights")
	}
	edit(t, p, func(p *argocd.AppProject) { p.Annotations = map[string]string{apis.AnnotationExecutor: "tenants/web"} })
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(w.Spec.Executor).NotTo(BeNil()) })
	expectNoNotice(t, app, apis.ConditionDependencyError)
}

// notesOn returns the texts of the events about an object.
func notesOn(t *testing.T, obj client.Object) []string {
	t.Helper()
	list := &eventsv1.EventList{}
	if err := k8s.List(t.Context(), list, client.InNamespace(obj.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		if e.Regarding.UID == obj.GetUID() {
			out = append(out, e.Note)
		}
	}
	return out
}

func expectNote(t *testing.T, obj client.Object, says string) {
	t.Helper()
	NewWithT(t).Eventually(func() []string { return notesOn(t, obj) }, soon, tick).Should(ContainElement(ContainSubstring(says)))
}

// TestEventsOnProjectsAndSecrets: an AppProject or a Secret with a problem gets an event too.
func TestEventsOnProjectsAndSecrets(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t)
	app := webApp(t, c, p.Name, repo).Annotation(apis.AnnotationWith, "secret/db").Obj()
	db := secretIn(t, app.Namespace, "db", false)
	create(t, app)
	expectNote(t, db, "may not be sent to clusters")
	project, credential := dependency.ProjectKey(c.Name, p.Name), dependency.CredentialKey(c.Name, s.Name)
	expectDependency(t, project, carries("sourceRepos"))
	expectDependency(t, credential, carries(secretWith(t, password)))
	answer(t, project, metav1.ConditionFalse, "conflict with \"kubectl\"")
	expectNote(t, p, "for Application "+app.Namespace+"/"+app.Name+": cluster "+c.Name+" uses its own AppProject of the same name")
	answer(t, credential, metav1.ConditionFalse, "invalid: "+password)
	expectNote(t, s, "did not accept all")
	if all := strings.Join(append(notesOn(t, s), notesOn(t, db)...), "\n"); strings.Contains(all, password) {
		t.Errorf("an event tells the password: %s", all)
	}
}

// TestTooLargeToTravel: an oversized dependency causes a condition. The earlier version stays on the cluster, and a
// smaller version is sent.
func TestTooLargeToTravel(t *testing.T) {
	start(t)
	p, c := appProject(t), cluster(t)
	s, repo := repoSecret(t)
	app := webApp(t, c, p.Name, repo).Obj()
	create(t, app)
	project, credential := dependency.ProjectKey(c.Name, p.Name), dependency.CredentialKey(c.Name, s.Name)
	expectDependency(t, project, carries("sourceRepos"))
	expectDependency(t, credential, carries(secretWith(t, password)))
	small := p.Spec.Raw
	long := strings.Repeat("x", 600<<10)
	edit(t, p, func(p *argocd.AppProject) {
		small = p.Spec.Raw
		var spec map[string]any
		_ = json.Unmarshal(p.Spec.Raw, &spec)
		spec["description"] = long
		p.Spec.Raw, _ = json.Marshal(spec)
	})
	expectTrouble(t, app, "AppProject "+p.Name+" cannot be sent: the objects have 6")
	expectNote(t, p, "cannot be sent")
	edit(t, s, func(s *corev1.Secret) { s.Data["more"] = []byte(long) })
	expectTrouble(t, app, "Secret "+s.Name+" cannot be sent")
	expectNote(t, s, "cannot be sent")
	for _, key := range []types.NamespacedName{project, credential} {
		if w := dependencyWork(t, key); w == nil || len(carriedBy(w)) > 10<<10 {
			t.Errorf("%s is not as it was", key)
		}
	}
	edit(t, p, func(p *argocd.AppProject) { p.Spec.Raw = small })
	edit(t, s, func(s *corev1.Secret) { delete(s.Data, "more") })
	expectTrouble(t, app, "")
}

// failing returns the metric's number of Applications for a reason.
func failing(t *testing.T, reason string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "towline_dependencies_failing" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == reason {
				return m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// TestFailingDependenciesAreCounted: the metric counts an Application only while the Application exists with the pull
// label.
func TestFailingDependenciesAreCounted(t *testing.T) {
	start(t)
	p := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Raw = json.RawMessage(`{"sourceRepos":["*"],"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}],` +
			`"namespaceResourceWhitelist":[]}`)
	})
	settledBeside(t)
	none := failing(t, apis.ReasonDependencyForbidden)
	for title, end := range map[string]func(app *argocd.Application){
		"deleted": func(app *argocd.Application) { remove(t, app) },
		"not for pull": func(app *argocd.Application) {
			edit(t, app, func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) })
		},
	} {
		t.Run(title, func(t *testing.T) {
			app := webApp(t, cluster(t), p.Name, "https://x").Annotation(apis.AnnotationWith, "secret/db").Obj()
			create(t, app)
			expectTrouble(t, app, "does not permit objects")
			NewWithT(t).Eventually(func() float64 { return failing(t, apis.ReasonDependencyForbidden) }, soon, tick).Should(Equal(none + 1))
			end(app)
			NewWithT(t).Eventually(func() float64 { return failing(t, apis.ReasonDependencyForbidden) }, soon, tick).Should(Equal(none))
		})
	}
}
