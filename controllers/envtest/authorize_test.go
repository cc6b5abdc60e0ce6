package envtest_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// strict is the authorization of a hub without settings.
func strict(o *controllers.Options) { o.Authorization = controllers.Authorization{} }

// tenant creates a namespace without any grants.
func tenant(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique("tenant")}}
	create(t, ns)
	return ns.Name
}

// expectForbidden waits until the Application shows a PropagationForbiddenError with the message, and an event with the
// reason. The Application must not show a PropagationError as well.
func expectForbidden(t *testing.T, app *argocd.Application, reason, says string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() string {
		message, _ := condition(t, app, apis.ConditionPropagationForbiddenError)
		return message
	}, soon, tick).Should(And(Not(BeEmpty()), ContainSubstring(says)))
	g.Eventually(func() []string { return eventReasons(t, app) }, soon, tick).Should(ContainElement(reason))
	_, other := condition(t, app, apis.ConditionPropagationError)
	g.Expect(other).To(BeFalse(), "it shows a PropagationError as well")
}

// expectAllowed waits until the Application has a work and no PropagationForbiddenError.
func expectAllowed(t *testing.T, app *argocd.Application) {
	t.Helper()
	expectWork(t, app)
	NewWithT(t).Eventually(func() bool {
		_, there := condition(t, app, apis.ConditionPropagationForbiddenError)
		return there
	}, soon, tick).Should(BeFalse())
}

// choose writes the clusters into the PlacementDecision.
func choose(t *testing.T, d *clusterv1beta1.PlacementDecision, clusters ...string) {
	t.Helper()
	before := d.DeepCopy()
	d.Status.Decisions = []clusterv1beta1.ClusterDecision{} // OCM writes an empty list for no cluster
	for _, c := range clusters {
		d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c, Reason: "Test"})
	}
	if err := k8s.Status().Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// scene is the namespace, the cluster and the Application of a test case.
type scene struct {
	namespace string
	cluster   *clusterv1.ManagedCluster
	app       *argocd.Application
}

func (s *scene) setProject(name string) {
	s.app.Spec.Raw = []byte(strings.Replace(string(s.app.Spec.Raw), `"project":"default"`, fmt.Sprintf(`"project":%q`, name), 1))
}

// own creates an AppProject for the Application alone.
func (s *scene) own(t *testing.T, edits ...func(*argocd.AppProjectSpec)) {
	t.Helper()
	p := project(unique("project"), edits...)
	create(t, p)
	s.setProject(p.Name)
}

// allow changes the AppProject of the Application.
func (s *scene) allow(t *testing.T, change func(*argocd.AppProjectSpec)) {
	t.Helper()
	edit(t, project(s.app.Project()), func(p *argocd.AppProject) { change(&p.Spec); p.Spec.Raw = nil })
}

// TestMissingGrantsAreNamed: each refusal names the missing grant. After the grant, the Application continues without a
// further action.
func TestMissingGrantsAreNamed(t *testing.T) {
	start(t, strict)
	inSet := func(name string) func(*clusterv1.ManagedCluster) {
		return func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: name} }
	}
	tests := map[string]struct {
		app    func(*fixture.ApplicationBuilder)
		given  func(*testing.T, *scene)
		bound  bool
		reason string
		says   string
		grant  func(*testing.T, *scene)
	}{
		"no binding": {
			reason: apis.ReasonClusterForbidden, says: "one of the cluster's ManagedClusterSets (global",
			grant: func(t *testing.T, s *scene) { create(t, binding(s.namespace, globalSet)) },
		},
		"a binding of a set without the cluster": {
			given: func(t *testing.T, s *scene) {
				set := clusterSet(unique("set"), nil)
				create(t, set)
				create(t, binding(s.namespace, set.Name))
			},
			reason: apis.ReasonClusterForbidden, says: "ManagedClusterSetBinding in namespace",
			grant: func(t *testing.T, s *scene) {
				list := &clusterv1beta2.ManagedClusterSetBindingList{}
				NewWithT(t).Expect(k8s.List(t.Context(), list, client.InNamespace(s.namespace))).To(Succeed())
				edit(t, s.cluster, inSet(list.Items[0].Spec.ClusterSet))
			},
		},
		"a set that selects others": {
			given: func(t *testing.T, s *scene) {
				set := clusterSet(unique("set"), &metav1.LabelSelector{MatchLabels: map[string]string{"env": s.cluster.Name}})
				create(t, set)
				create(t, binding(s.namespace, set.Name))
				s.app.Annotations["set"] = set.Name
			},
			reason: apis.ReasonClusterForbidden, says: "to permit the cluster",
			grant: func(t *testing.T, s *scene) {
				set := clusterSet(s.app.Annotations["set"], nil)
				edit(t, set, func(set *clusterv1beta2.ManagedClusterSet) {
					set.Spec.ClusterSelector.LabelSelector = &metav1.LabelSelector{}
				})
			},
		},
		"a binding of a set that does not exist": {
			given: func(t *testing.T, s *scene) {
				s.app.Annotations["set"] = unique("set")
				create(t, binding(s.namespace, s.app.Annotations["set"]))
			},
			reason: apis.ReasonClusterForbidden, says: "to permit the cluster",
			grant: func(t *testing.T, s *scene) {
				create(t, clusterSet(s.app.Annotations["set"], &metav1.LabelSelector{}))
			},
		},
		"a decision for another cluster": {
			given: func(t *testing.T, s *scene) {
				d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "d"}}
				create(t, d)
				choose(t, d, "another")
			},
			reason: apis.ReasonClusterForbidden, says: "a Placement in namespace",
			grant: func(t *testing.T, s *scene) {
				d := get(t, &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "d"}})
				choose(t, d, "another", s.cluster.Name)
			},
		},
		"no such project": {
			bound:  true,
			given:  func(_ *testing.T, s *scene) { s.setProject(unique("missing")) },
			reason: apis.ReasonProjectNotFound, says: "does not exist in namespace argocd: create the AppProject",
			grant: func(t *testing.T, s *scene) {
				create(t, project(s.app.Project(), func(p *argocd.AppProjectSpec) { p.SourceNamespaces = []string{"tenant-*"} }))
			},
		},
		"a project for others": {
			bound: true,
			given: func(t *testing.T, s *scene) { s.own(t) }, reason: apis.ReasonProjectForbidden, says: "spec.sourceNamespaces",
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceNamespaces = []string{s.namespace} })
			},
		},
		"another repository": {
			bound: true,
			given: func(t *testing.T, s *scene) {
				s.own(t, func(p *argocd.AppProjectSpec) {
					p.SourceNamespaces, p.SourceRepos = []string{s.namespace}, []string{"https://git.example.com/other"}
				})
			},
			reason: apis.ReasonSourceForbidden, says: "spec.sourceRepos",
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{"https://git.example.com/*"} })
			},
		},
		"hydrated to another repository": {
			bound: true,
			app: func(b *fixture.ApplicationBuilder) {
				b.Spec(`{"project":"default","sourceHydrator":{"drySource":{"repoURL":"https://git.example.com/a","path":"a","targetRevision":"HEAD"},` +
					`"syncSource":{"repoURL":"https://evil.example.com/b","targetBranch":"b","path":"b"}},` +
					`"destination":{"server":"https://kubernetes.default.svc","namespace":"guestbook"}}`)
			},
			given: func(t *testing.T, s *scene) {
				s.own(t, func(p *argocd.AppProjectSpec) {
					p.SourceNamespaces, p.SourceRepos = []string{s.namespace}, []string{"https://git.example.com/*"}
				})
			},
			reason: apis.ReasonSourceForbidden, says: `the repository "https://evil.example.com/b"`,
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{"*"} })
			},
		},
		"another repository in a field of a newer Argo CD": {
			bound: true,
			app: func(b *fixture.ApplicationBuilder) {
				b.Spec(`{"project":"default","source":{"repoURL":"https://git.example.com/a","path":"a"},` +
					`"newer":[{"mirror":{"repoURL":"https://evil.example.com/b"}}],` +
					`"destination":{"server":"https://kubernetes.default.svc","namespace":"guestbook"}}`)
			},
			given: func(t *testing.T, s *scene) {
				s.own(t, func(p *argocd.AppProjectSpec) {
					p.SourceNamespaces, p.SourceRepos = []string{s.namespace}, []string{"https://git.example.com/*"}
				})
			},
			reason: apis.ReasonSourceForbidden, says: `the repository "https://evil.example.com/b"`,
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{"*"} })
			},
		},
		"another destination": {
			bound: true,
			given: func(t *testing.T, s *scene) {
				s.own(t, func(p *argocd.AppProjectSpec) {
					p.SourceNamespaces = []string{s.namespace}
					p.Destinations = []argocd.ProjectDestination{{Name: "c", Namespace: "other"}}
				})
			},
			reason: apis.ReasonDestinationForbidden, says: "namespace: guestbook} to spec.destinations of the AppProject",
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) {
					p.Destinations = []argocd.ProjectDestination{{Name: s.cluster.Name, Namespace: "guestbook"}}
				})
			},
		},
		"a cluster behind its own": {
			bound: true,
			app:   func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationDestinationName, "edge-1") },
			given: func(t *testing.T, s *scene) {
				s.own(t, func(p *argocd.AppProjectSpec) {
					p.SourceNamespaces = []string{s.namespace}
					p.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "*"}, {Name: s.cluster.Name, Namespace: "*"}}
				})
			},
			reason: apis.ReasonDestinationForbidden, says: `the destination "edge-1"`,
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) {
					p.Destinations = append(p.Destinations, argocd.ProjectDestination{Name: "edge-1", Namespace: "guestbook"})
				})
			},
		},
		"its own cluster, by the name in-cluster of others": {
			bound: true,
			given: func(t *testing.T, s *scene) {
				s.own(t, func(p *argocd.AppProjectSpec) {
					p.SourceNamespaces = []string{s.namespace}
					p.Destinations = []argocd.ProjectDestination{{Name: "!in-cluster", Namespace: "other"}}
				})
			},
			reason: apis.ReasonDestinationForbidden, says: "does not permit namespace",
			grant: func(t *testing.T, s *scene) {
				s.allow(t, func(p *argocd.AppProjectSpec) {
					p.Destinations = []argocd.ProjectDestination{{Name: "in-cluster", Namespace: "guestbook"}}
				})
			},
		},
		"an escape into Argo CD's namespace": {
			bound:  true,
			app:    func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationAppNamespace, "argocd") },
			reason: apis.ReasonNamespaceForbidden, says: "--allowed-app-namespaces",
			grant: func(t *testing.T, s *scene) {
				edit(t, s.app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationAppNamespace) })
			},
		},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			s := &scene{namespace: tenant(t), cluster: cluster(t)}
			if tc.bound {
				create(t, binding(s.namespace, globalSet))
			}
			b := fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name)
			if tc.app != nil {
				tc.app(b)
			}
			s.app = b.Obj()
			if tc.given != nil {
				tc.given(t, s)
			}
			create(t, s.app)
			expectForbidden(t, s.app, tc.reason, tc.says)
			if workOf(t, s.app) != nil {
				t.Error("it was sent all the same")
			}
			tc.grant(t, s)
			expectAllowed(t, s.app)
		})
	}
}

// allowed creates an Application, and the ManagedClusterSetBinding that permits the Application's cluster.
func allowed(t *testing.T) (*argocd.Application, *clusterv1beta2.ManagedClusterSetBinding) {
	t.Helper()
	ns := tenant(t)
	b := binding(ns, globalSet)
	create(t, b)
	app := fixture.Application("guestbook").Namespace(ns).Cluster(cluster(t).Name).Obj()
	create(t, app)
	expectWork(t, app)
	return app, b
}

func take(t *testing.T, obj client.Object) {
	t.Helper()
	if err := k8s.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// TestRevocationFreezes: after a revocation, the running Application stays unchanged, and gets no updates until the
// grant is back.
func TestRevocationFreezes(t *testing.T) {
	start(t, strict)
	app, b := allowed(t)
	w := workOf(t, app)
	take(t, b)
	expectForbidden(t, app, apis.ReasonClusterForbidden, "to permit the cluster")
	edit(t, app, func(a *argocd.Application) {
		a.Spec.Raw = []byte(strings.Replace(string(a.Spec.Raw), "HEAD", "other", 1))
	})
	settled(t)
	if got := workOf(t, app); got == nil || got.ResourceVersion != w.ResourceVersion {
		t.Error("the work was changed, or went")
	}
	create(t, binding(app.Namespace, globalSet))
	expectAllowed(t, app)
}

// TestRevocationDeletes: with --on-revocation=delete, the Application leaves the cluster after the revocation, and
// returns after a new grant.
func TestRevocationDeletes(t *testing.T) {
	start(t, deleting)
	s := at(t, cluster(t))
	create(t, binding(s.namespace, globalSet))
	create(t, s.app)
	expectWork(t, s.app)
	s.forbid(t)
	expectForbidden(t, s.app, apis.ReasonSourceForbidden, "does not permit the repository")
	expectNoWork(t, s.app)
	s.allow(t, func(p *argocd.AppProjectSpec) { p.SourceRepos = []string{repo} })
	expectAllowed(t, s.app)
}

// TestMoveToAForbiddenCluster: a change of the annotation does not move an Application to a forbidden cluster. The
// Application on the permitted cluster stays.
func TestMoveToAForbiddenCluster(t *testing.T) {
	start(t, strict)
	ns, mine, foreign := tenant(t), cluster(t), cluster(t)
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "d"}}
	create(t, d)
	choose(t, d, mine.Name)
	app := fixture.Application("guestbook").Namespace(ns).Cluster(mine.Name).Obj()
	create(t, app)
	w := expectWork(t, app)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = foreign.Name })
	expectForbidden(t, app, apis.ReasonClusterForbidden, foreign.Name)
	if workOf(t, app) != nil {
		t.Error("the foreign cluster got it")
	}
	if got := get(t, w); got == nil || !got.DeletionTimestamp.IsZero() {
		t.Error("it was taken off its cluster")
	}
}

func TestClusterAuthorizationModes(t *testing.T) {
	for mode, want := range map[string]bool{grants.BindingOrPlacement: true, grants.Placement: false, grants.None: true} {
		t.Run(mode, func(t *testing.T) {
			towline := start(t, func(o *controllers.Options) { o.Authorization.Clusters = mode })
			defer towline.stop()
			ns := tenant(t)
			if mode != grants.None {
				create(t, binding(ns, globalSet))
			}
			app := fixture.Application("guestbook").Namespace(ns).Cluster(cluster(t).Name).Obj()
			create(t, app)
			if want {
				expectAllowed(t, app)
				return
			}
			expectForbidden(t, app, apis.ReasonClusterForbidden, "to permit the cluster, create a Placement")
		})
	}
}

// TestReevaluationReadsNothing: after the deletion of the only binding of a hundred Applications, Towline checks each
// Application again, without a read from the API server.
func TestReevaluationReadsNothing(t *testing.T) {
	const count = 100
	towline := start(t, strict, func(o *controllers.Options) {
		o.Enabled = []string{controllers.Propagation}
		o.Concurrency = 16
	})
	ns, c := tenant(t), cluster(t)
	b := binding(ns, globalSet)
	create(t, b)
	each(t, count, func(i int) error {
		app := fixture.Application(fmt.Sprintf("app-%04d", i)).Namespace(ns).Cluster(c.Name).Obj()
		app.UID = ""
		return k8s.Create(t.Context(), app)
	})
	refused := func() int {
		list := &argocd.ApplicationList{}
		if err := k8s.List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range list.Items {
			if len(list.Items[i].Status.Conditions) > 0 {
				n++
			}
		}
		return n
	}
	works := func() int {
		list := &workv1.ManifestWorkList{}
		if err := k8s.List(t.Context(), list, client.InNamespace(c.Name)); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	g := NewWithT(t)
	g.Eventually(works, 2*soon, 10*tick).Should(Equal(count))
	sent(t)
	towline.writes.take()
	towline.writes.takeReads()

	take(t, b)
	g.Eventually(refused, 2*soon, 10*tick).Should(Equal(count))
	sent(t)
	if reads := towline.writes.takeReads(); len(reads) > 0 {
		t.Errorf("one binding's end took %d reads: %.300q", len(reads), reads)
	}
	if made := len(towline.writes.take()); made != count {
		t.Errorf("it took %d writes for %d conditions", made, count)
	}
}

// TestExecutor: works name the ServiceAccount from the hub's flag or from their AppProject, and follow a change.
func TestExecutor(t *testing.T) {
	start(t, func(o *controllers.Options) {
		o.Authorization.Executor = types.NamespacedName{Namespace: "argocd", Name: "applier"}
	})
	executor := func(app *argocd.Application) string {
		w := workOf(t, app)
		if w == nil || w.Spec.Executor == nil {
			return ""
		}
		account := w.Spec.Executor.Subject.ServiceAccount
		return account.Namespace + "/" + account.Name
	}
	s := &scene{namespace: namespace(t, unique("apps")), cluster: cluster(t)}
	s.app = fixture.Application("guestbook").Namespace(s.namespace).Cluster(s.cluster.Name).Obj()
	s.own(t, func(p *argocd.AppProjectSpec) { p.SourceNamespaces = []string{"*"} })
	create(t, s.app)
	g := NewWithT(t)
	g.Eventually(func() string { return executor(s.app) }, soon, tick).Should(Equal("argocd/applier"))
	annotate := func(value string) {
		edit(t, project(s.app.Project()), func(p *argocd.AppProject) {
			p.Annotations = map[string]string{apis.AnnotationExecutor: value}
		})
	}
	annotate("team-a/deployer")
	g.Eventually(func() string { return executor(s.app) }, soon, tick).Should(Equal("team-a/deployer"))
	annotate("nonsense")
	expectProblem(t, s.app, apis.ReasonExecutorInvalid, "is not <namespace>/<name>")
	g.Expect(executor(s.app)).To(Equal("team-a/deployer"))
	annotate("")
	g.Eventually(func() string { return executor(s.app) }, soon, tick).Should(Equal("argocd/applier"))
	expectNoProblem(t, s.app)
}

// TestAForbiddenRivalBlocksNobody: a forbidden Application does not occupy a target against a permitted Application.
func TestAForbiddenRivalBlocksNobody(t *testing.T) {
	start(t, strict)
	c := cluster(t)
	squatter := fixture.Application(unique("app")).Namespace(tenant(t)).Cluster(c.Name).
		Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
	create(t, squatter)
	expectForbidden(t, squatter, apis.ReasonNamespaceForbidden, "may not have")
	NewWithT(t).Expect(client.IgnoreAlreadyExists(k8s.Create(t.Context(), binding("argocd", globalSet)))).To(Succeed())
	app := fixture.Application(squatter.Name).Namespace("argocd").Cluster(c.Name).Obj()
	create(t, app)
	expectAllowed(t, app)
}

// TestTwoApplicationsSentToOneTarget: the older Application keeps the target. Towline takes the younger Application
// back as soon as both works own the cluster's Application.
func TestTwoApplicationsSentToOneTarget(t *testing.T) {
	c := cluster(t)
	var apps []*argocd.Application
	var works []*workv1.ManifestWork
	for range 2 {
		app := application(t, c).Annotation(apis.AnnotationAppNamespace, "argocd").Obj()
		create(t, app)
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		create(t, w)
		apps, works = append(apps, app), append(works, w)
	}
	first, second := 0, 1
	if apps[0].CreationTimestamp.Equal(&apps[1].CreationTimestamp) && apps[1].UID < apps[0].UID {
		first, second = 1, 0
	}
	applied(t, works[second])
	start(t)
	expectProblem(t, apps[second], apis.ReasonTargetConflict, "has the same namespace and name")
	settled(t)
	if get(t, works[second].DeepCopy()) == nil {
		t.Error("it went before the other was there to keep the app")
	}
	applied(t, get(t, works[first]))
	expectNoWork(t, apps[second])
	expectWork(t, apps[first])
}
