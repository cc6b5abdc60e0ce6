package envtest_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

// gitless makes a cluster read all repositories through the hub.
func gitless(c *clusterv1.ManagedCluster) {
	metav1.SetMetaDataLabel(&c.ObjectMeta, apis.AnnotationSource, apis.SourceHub)
}

// atAgent returns the address of an Application's repository at the agent of a cluster.
func atAgent(app *argocd.Application, repo string) string {
	return source.At(apis.DefaultSourceAddress, app.Project(), repo)
}

// repoOf returns the address of the Application's repository.
func repoOf(app *argocd.Application) string { return source.Addresses(app.Spec.Raw)[0] }

// expectSource waits until the Application on the cluster reads from the address, and returns the work.
func expectSource(t *testing.T, app *argocd.Application, address string) *workv1.ManifestWork {
	t.Helper()
	var w *workv1.ManifestWork
	NewWithT(t).Eventually(func(g Gomega) {
		w = workOf(t, app)
		g.Expect(w).NotTo(BeNil())
		g.Expect(carriedBy(w)).To(ContainSubstring(`"repoURL":"` + address + `"`))
		g.Expect(work.ReadsThroughHub(w)).To(Equal(address != repoOf(app)))
	}, soon, tick).Should(Succeed())
	return w
}

// TestSourcesFollowTheChoice: each change of the choice rewrites the Application on the cluster, and only its addresses.
func TestSourcesFollowTheChoice(t *testing.T) {
	start(t)
	c := cluster(t)
	app := application(t, c).Obj()
	create(t, app)
	applied(t, expectSource(t, app, repoOf(app)))
	edit(t, c, gitless)
	w := expectSource(t, app, atAgent(app, repoOf(app)))
	if plain := strings.ReplaceAll(carriedBy(w), apis.DefaultSourceAddress, ""); strings.Contains(plain, "https://git") {
		t.Errorf("the cluster learns the address of a Git server: %s", plain)
	}
	applied(t, w)
	edit(t, get(t, namespaceOf(c.Name)), func(ns *corev1.Namespace) {
		ns.Annotations = map[string]string{apis.AnnotationSourceAddress: "https://10.0.0.7:8443"}
	})
	applied(t, expectSource(t, app, source.At("https://10.0.0.7:8443", app.Project(), repoOf(app))))
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationSource] = apis.SourceDirect })
	applied(t, expectSource(t, app, repoOf(app)))
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationSource) })
	applied(t, expectSource(t, app, source.At("https://10.0.0.7:8443", app.Project(), repoOf(app))))
	edit(t, c, func(c *clusterv1.ManagedCluster) { delete(c.Labels, apis.AnnotationSource) })
	applied(t, expectSource(t, app, repoOf(app)))
	inNamespace := func(choice string) {
		edit(t, get(t, namespaceOf(c.Name)), func(ns *corev1.Namespace) { ns.Annotations[apis.AnnotationSource] = choice })
	}
	inNamespace(apis.SourceHub)
	applied(t, expectSource(t, app, source.At("https://10.0.0.7:8443", app.Project(), repoOf(app))))
	edit(t, c, gitless)
	inNamespace(apis.SourceDirect)
	if last := expectSource(t, app, repoOf(app)); last.UID != w.UID {
		t.Error("the Application has a new work")
	}
}

// TestReleaseOfSources: each way out of the pull model gives the Application its own address before the work goes.
func TestReleaseOfSources(t *testing.T) {
	start(t)
	for title, slip := range slips {
		t.Run(title, func(t *testing.T) {
			app := application(t, cluster(t, gitless)).Finalizers(apis.FinalizerResources).Obj()
			create(t, app)
			applied(t, expectSource(t, app, atAgent(app, repoOf(app))))
			before := app.DeepCopy() // the annotation with the cluster may be removed
			edit(t, app, slip)
			held := expectReleasing(t, before)
			if raw := carriedBy(held); !strings.Contains(raw, `"repoURL":"`+repoOf(app)+`"`) || strings.Contains(raw, apis.DefaultSourceAddress) {
				t.Errorf("the released Application is %s", raw)
			}
			applied(t, held)
			expectNoWork(t, before)
		})
	}
}

// TestMoveOfSources: each cluster has the addresses of its own choice.
func TestMoveOfSources(t *testing.T) {
	start(t)
	from, to := cluster(t, gitless), cluster(t)
	app := application(t, from).Obj()
	create(t, app)
	applied(t, expectSource(t, app, atAgent(app, repoOf(app))))
	before := app.DeepCopy()
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationCluster] = to.Name })
	w := expectSource(t, app, repoOf(app))
	if old := expectSource(t, before, atAgent(app, repoOf(app))); old.Namespace != from.Name || w.Namespace != to.Name {
		t.Errorf("the works are on %s and %s", old.Namespace, w.Namespace)
	}
	report(t, app, feedbackOf(app).Healthy("a"))
	NewWithT(t).Eventually(func() bool {
		old := workOf(t, before)
		if old != nil && strings.Contains(carriedBy(old), repoOf(app)) {
			t.Error("the former cluster learns the address of the Git server")
		}
		if old != nil && work.ReportsFinalizers(old) {
			applied(t, old)
		}
		return old == nil
	}, soon, tick).Should(BeTrue())
}

// TestSourcesAreJudgedAsTheHubs: an AppProject of the hub names Git servers. An Application that Towline does not send at
// present does not lose its right by the address at the agent.
func TestSourcesAreJudgedAsTheHubs(t *testing.T) {
	start(t)
	c := cluster(t, gitless)
	p := appProject(t, func(p *argocd.AppProject) { p.Spec.SourceRepos = []string{"https://git.example.com/*"} })
	app := webApp(t, c, p.Name, "https://git.example.com/apps.git").Obj()
	create(t, app)
	w := expectSource(t, app, atAgent(app, repoOf(app)))
	applied(t, w)
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationMoveOrder] = "sideways" })
	expectProblem(t, app, apis.ReasonAnnotationInvalid, "sideways")
	settled(t)
	if !work.ReadsThroughHub(workOf(t, app)) {
		t.Error("the cluster cannot read the repository any more")
	}
	edit(t, p, func(p *argocd.AppProject) {
		p.Spec.Raw = nil
		p.Spec.SourceRepos = []string{"https://other.example.com/*"}
	})
	NewWithT(t).Eventually(func() bool { return work.ReadsThroughHub(workOf(t, app)) }, soon, tick).Should(BeFalse())
}

// TestReadsOfAnOperationClose: a rollback may read a repository of the history. When the AppProject does not permit the
// repository any more, the cluster may not read the repository any more, although the operation has not ended.
func TestReadsOfAnOperationClose(t *testing.T) {
	start(t)
	const repo, former = "https://git.example.com/apps.git", "https://former.example.com/apps.git"
	p := appProject(t)
	app := webApp(t, cluster(t, gitless), p.Name, former).Obj()
	create(t, app)
	seen(t, expectSource(t, app, atAgent(app, former)))
	reported(t, app, `{"health":{"status":"Progressing"}}`)
	reportedAgain(t, app, historyOf(t, "Healthy", `{"repoURL":"`+atAgent(app, former)+`","path":"."}`))
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(HaveLen(1))
	edit(t, app, func(a *argocd.Application) { a.Spec.Raw = []byte(specOf(p.Name, repo)) })
	expectSource(t, app, atAgent(app, repo))
	reportHeld(t, app, feedbackOf(app).Healthy("a"))
	request(t, app, `{"sync":{"source":{"repoURL":"`+former+`","path":"."}}}`)
	id := sentOperation(t, app, "")
	own, forOperation := source.Name(p.Name, repo), source.Name(p.Name, former)
	names := func() []string { return source.ReadNames(workOf(t, app).Annotations[apis.AnnotationSources]) }
	if got := names(); len(got) != 2 || !slices.Contains(got, own) || !slices.Contains(got, forOperation) {
		t.Fatalf("during the operation, the cluster may read %v", got)
	}
	reportHeld(t, app, operationReport(app, "Running", id))
	expectApplication(t, app)
	settled(t)
	if !slices.Contains(names(), forOperation) {
		t.Fatal("the running operation may not read its repository")
	}
	edit(t, p, func(p *argocd.AppProject) { p.Spec.Raw, p.Spec.SourceRepos = nil, []string{repo} })
	NewWithT(t).Eventually(names, soon, tick).Should(Equal([]string{own}))
}

// TestDependenciesOfSources: a cluster that reads through the hub gets an AppProject for the agent, and no credential.
func TestDependenciesOfSources(t *testing.T) {
	start(t)
	c := cluster(t)
	s, repo := repoSecret(t)
	p := appProject(t, func(p *argocd.AppProject) { p.Spec.SourceRepos = []string{"https://*.example.com/*"} })
	app, other := webApp(t, c, p.Name, repo).Obj(), webApp(t, c, p.Name, repo).Annotation(apis.AnnotationSource, apis.SourceDirect).Obj()
	create(t, app)
	credential, project := dependency.CredentialKey(c.Name, s.Name), dependency.ProjectKey(c.Name, p.Name)
	expectDependency(t, credential, carries(secretWith(t, password)))
	expectDependency(t, project, carries(`"sourceRepos":["https://*.example.com/*"]`))

	edit(t, c, gitless)
	expectSource(t, app, atAgent(app, repo))
	expectDependency(t, project, carries(`"sourceRepos":["`+atAgent(app, repo)+`"]`))
	expectNoDependency(t, credential)

	create(t, other)
	expectDependency(t, project, carries(`"sourceRepos":["https://*.example.com/*","`+atAgent(app, repo)+`"]`))
	expectDependency(t, credential, carries(secretWith(t, password)))
	remove(t, other)
	expectNoWork(t, other)
	expectDependency(t, project, carries(`"sourceRepos":["`+atAgent(app, repo)+`"]`))
	expectNoDependency(t, credential)
}

// TestSourcesAreShownAsTheUsers: the status of the hub's Application names the user's own repositories. A cluster cannot
// add a repository.
func TestSourcesAreShownAsTheUsers(t *testing.T) {
	start(t)
	c := cluster(t, gitless)
	const repo = "https://git.example.com/apps.git"
	app := application(t, c).Spec(helmSpec("web", "v1")).Obj()
	create(t, app)
	expectSource(t, app, atAgent(app, repo))
	reported(t, app, `{"health":{"status":"Progressing"}}`)
	s := historyOf(t, "Degraded", helmSource(atAgent(app, repo), "web", "v1"), helmSource(atAgent(app, planted), "web", "v1"),
		helmSource(atAgent(app, repo), "web", "planted"))
	s.Conditions = []argocd.Condition{{Type: "ComparisonError", Message: "no " + atAgent(app, repo) + ", no " + atAgent(app, planted)}}
	reportedAgain(t, app, s)
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(ConsistOf(
		And(HavePrefix(repo+" web"), ContainSubstring(`"v1"`), Not(ContainSubstring(apis.DefaultSourceAddress)))))
	expectNotice(t, app, "ComparisonError", "no "+repo+", no "+atAgent(app, planted))

	edit(t, c, func(c *clusterv1.ManagedCluster) { delete(c.Labels, apis.AnnotationSource) }) // the cluster keeps its history
	expectSource(t, app, repo)
	s.Health.Status = "Healthy"
	reportedAgain(t, app, s)
	NewWithT(t).Eventually(func() []string { return sourcesShown(t, app) }, soon, tick).Should(ConsistOf(HavePrefix(repo + " web")))
}

// TestRefreshOfSources: Argo CD's webhook on the hub asks for a refresh. The refresh reaches the cluster, and the cluster
// keeps its addresses.
func TestRefreshOfSources(t *testing.T) {
	start(t)
	app := application(t, cluster(t, gitless)).Obj()
	create(t, app)
	applied(t, expectSource(t, app, atAgent(app, repoOf(app))))
	edit(t, app, func(a *argocd.Application) { a.Annotations[apis.AnnotationRefresh] = "normal" })
	NewWithT(t).Eventually(func() string { return carriedBy(workOf(t, app)) }, soon, tick).Should(And(
		ContainSubstring(`"`+apis.AnnotationRefresh+`":"normal"`), ContainSubstring(`"repoURL":"`+atAgent(app, repoOf(app))+`"`)))
}

// TestAdoptionOfSources: an existing Application has the address that the user knows. Towline first asks with this
// address, and changes the address after the adoption.
func TestAdoptionOfSources(t *testing.T) {
	start(t)
	app := application(t, cluster(t, gitless)).Obj()
	create(t, app)
	w := expectSource(t, app, atAgent(app, repoOf(app)))
	refusal := strings.Replace(conflict, ".spec.source.path", ".spec.source.repoURL", 1)
	refused := func() { reportOf(t, workOf(t, app), feedbackOf(app).Condition(workv1.WorkApplied, "False", refusal)) }
	refused()
	NewWithT(t).Eventually(func() bool { return work.AsksOrigin(workOf(t, app)) }, soon, tick).Should(BeTrue())
	refused()
	asking := expectSource(t, app, repoOf(app))
	if work.UpdateModeOf(asking) != work.Apply || asking.UID != w.UID {
		t.Errorf("the work asks with %+v", asking.Spec)
	}
	settled(t)
	if now := workOf(t, app); now.Generation != asking.Generation {
		t.Error("the work does not wait for the answer")
	}
	reportOf(t, asking, feedbackOf(app).String("healthStatus", "Healthy"))
	if taken := expectSource(t, app, atAgent(app, repoOf(app))); work.UpdateModeOf(taken) != work.ForceApply {
		t.Error("the author's address would stay")
	}
}
