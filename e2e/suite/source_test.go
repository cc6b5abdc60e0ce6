package suite

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/source"
)

// ownRepo has a ConfigMap, a Helm chart, and values for the chart in a repository of their own.
const (
	ownRepo    = "through-hub"
	valuesRepo = "through-hub-values"
	formerRepo = "through-hub-former"
	firstRepo  = "through-hub-first"
)

var ownContent = fstest.MapFS{
	configFile:                   {Data: []byte(configOf("0")), Mode: 0o644},
	"chart/Chart.yaml":           {Data: []byte("apiVersion: v2\nname: chart\nversion: 1.0.0\n"), Mode: 0o644},
	"chart/values.yaml":          {Data: []byte("color: of the chart\n"), Mode: 0o644},
	"chart/templates/color.yaml": {Data: []byte(chartTemplate), Mode: 0o644},
}

const chartTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: color}\ndata: {color: {{ .Values.color | quote }}}\n"

var _ = Describe("Clusters without a way to Git", Ordered, Serial, inEtcd, func() {
	on := []string{"cluster1", "cluster2"}
	var git *secureGit
	var server *fleet.Process
	agents := map[string]*towline.Agent{}

	// commit sets the value of the ConfigMap in ownRepo, and returns the commit.
	commit := func(ctx context.Context, value string) string {
		GinkgoHelper()
		return setValue(ctx, ownRepo, value)
	}

	// stays lets the cluster compare the Application again, and expects no change and no error.
	stays := func(ctx context.Context, on, name string) {
		GinkgoHelper()
		hardRefresh(ctx, on, name)
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Refresh()", BeEmpty()))
		there, err := read(cluster[on], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(there.Status.Sync.Status).To(Equal("Synced"))
		Expect(there.Status.Conditions).To(BeEmpty())
	}

	// hangs lets the cluster compare the Application until the Git server has got a request without an answer.
	hangs := func(ctx context.Context, on, name string) {
		GinkgoHelper()
		Eventually(ctx, func(ctx context.Context) int32 {
			hardRefresh(ctx, on, name)
			return git.held()
		}).WithPolling(2 * time.Second).ShouldNot(BeZero())
	}

	BeforeAll(func(ctx SpecContext) {
		useHelm(ctx)
		Expect(f.Git.Create(ctx, ownRepo, ownContent)).To(Succeed())
		Expect(f.Git.Create(ctx, valuesRepo, fstest.MapFS{"prod.yaml": {Data: []byte("color: of the values\n"), Mode: 0o644}})).To(Succeed())
		git, server = serveRepositories(ctx)
		isolate(ctx, on)
		for _, name := range on {
			agents[name], _ = openDoor(ctx, name)
		}
	})

	It("run an Application of a private repository", func(ctx SpecContext) {
		for _, on := range on {
			began := time.Now()
			name := "door-guestbook-" + on
			through(ctx, name, on, from(git.repo(fleet.AppsRepo), "guestbook"))
			app := expectHealthy(ctx, name)
			AddReportEntry(fmt.Sprintf("%s is Healthy on the hub after %.1f s", name, time.Since(began).Seconds()))
			deployment(ctx, on, name)
			there, err := read(cluster[on], named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(there.Spec.Raw)).NotTo(ContainSubstring(git.address()))
			Expect(string(app.Spec.Raw)).To(ContainSubstring(git.repo(fleet.AppsRepo)))
			Consistently(ctx, func(ctx context.Context) (string, error) {
				return f.Hub.Kubectl(ctx, "get", "application", name, "--namespace", argocdNamespace, "--output", "json")
			}).WithTimeout(5*time.Second).ShouldNot(ContainSubstring(source.Former(source.Name(argocd.DefaultProject, git.repo(fleet.AppsRepo)))),
				"only the cluster knows the agent's address")
		}
	})

	It("have no credential, no address and no way", func(ctx SpecContext) {
		for _, on := range on {
			all, err := f.Cluster(on).Kubectl(ctx, "get", "secrets,configmaps,applications.argoproj.io,appprojects.argoproj.io",
				"--all-namespaces", "--output", "json")
			Expect(err).NotTo(HaveOccurred())
			for _, text := range []string{hubPassword, base64.StdEncoding.EncodeToString([]byte(hubPassword)), git.address()} {
				Expect(all).NotTo(ContainSubstring(text), on)
			}
			if f.Cluster(on).Isolated() {
				out, err := f.Cluster(on).CombinedOutput(ctx, "git", "-c", "http.sslVerify=false", "ls-remote", git.repo(fleet.AppsRepo))
				Expect(err).To(HaveOccurred())
				AddReportEntry("git ls-remote in the network of "+on, string(out))
				Expect(string(out)).To(ContainSubstring("Failed to connect"))
			}
		}
		Expect(git.clients()).To(HaveEach(HavePrefix("hub git/")))
		AddReportEntry(fmt.Sprintf("%d requests with the password at the Git server", len(git.clients())))
	})

	It("run charts, overlays, and Applications with several sources", long, func(ctx SpecContext) {
		several := from(git.repo(ownRepo), "chart")
		several["helm"] = map[string]any{"valueFiles": []string{"$values/prod.yaml"}}
		for _, on := range on {
			through(ctx, "door-chart-"+on, on, from(git.repo(ownRepo), "chart"))
			through(ctx, "door-overlay-"+on, on, from(git.repo(fleet.AppsRepo), "kustomize-guestbook/overlays/dev"))
			through(ctx, "door-several-"+on, on, several, map[string]any{"repoURL": git.repo(valuesRepo), "targetRevision": "main", "ref": "values"})
		}
		for _, on := range on {
			for name, color := range map[string]string{"door-chart-": "of the chart", "door-several-": "of the values"} {
				expectHealthy(ctx, name+on)
				Expect(read(cluster[on], configMapOn(name+on, "color"))(ctx)).To(HaveField("Data", HaveKeyWithValue("color", color)))
			}
			expectHealthy(ctx, "door-overlay-"+on)
		}
	})

	It("get a commit by the webhook of the hub", long, func(ctx SpecContext) {
		for _, on := range on {
			through(ctx, "door-commit-"+on, on, from(git.repo(ownRepo), "plain"))
			expectAtRest(ctx, "door-commit-"+on)
		}
		best := time.Hour
		for i := range 3 {
			value := fmt.Sprint(i + 1)
			began := time.Now()
			sha := commit(ctx, value)
			callWebhook(ctx, git.repo(ownRepo), sha, configFile)
			for _, on := range on {
				Eventually(ctx, read(cluster[on], configMapOn("door-commit-"+on, "config"))).Should(HaveField("Data", HaveKeyWithValue("value", value)))
				AddReportEntry(fmt.Sprintf("commit %d is applied on %s after %.2f s", i+1, on, time.Since(began).Seconds()))
			}
			best = min(best, time.Since(began))
			for _, on := range on {
				Eventually(ctx, read(hub, named("door-commit-"+on))).Should(HaveField("Status.Sync.Revision", sha))
				expectAtRest(ctx, "door-commit-"+on)
			}
		}
		Expect(best).To(BeNumerically("<", 5*time.Second))
	})

	It("cannot tell another cluster's repository from an absent one", func(ctx SpecContext) {
		through(ctx, "door-secret", "cluster1", from(git.repo(valuesRepo), "."))
		through(ctx, "door-own", "cluster2", from(git.repo(ownRepo), "plain"))
		nameOf := func(repo string) string { return source.Name(argocd.DefaultProject, repo) }
		name, own := nameOf(git.repo(valuesRepo)), nameOf(git.repo(ownRepo))
		absent := nameOf("https://git.example.com/" + ownRepo + "-values.git")
		Expect(absent).To(HaveLen(len(name)))
		for on, name := range map[string]string{"cluster1": name, "cluster2": own} {
			Eventually(func() int { code, _ := askHub(ctx, on, source.Path(on, name)+refsOf); return code }).Should(Equal(200))
		}
		for foreign, absent := range map[string]string{name: absent, source.Former(name): source.Former(absent)} {
			for _, namespace := range on {
				others, codes := forgeries(namespace, absent, own), map[string]string{}
				for title, request := range forgeries(namespace, foreign, own) {
					answer := request.answer(ctx, "cluster2", foreign)
					Expect(answer).To(HavePrefix("4"), title)
					Expect(answer).To(Equal(others[title].answer(ctx, "cluster2", absent)), title)
					codes[title] = answer[:3]
				}
				AddReportEntry(fmt.Sprintf("the codes for cluster2 in the namespace %s: %v", namespace, codes))
				list, text := askHub(ctx, "cluster2", strings.ReplaceAll(source.Path(namespace, ""), "/proxy", ""))
				Expect(list).To(Equal(403), text)
			}
		}
		commit, err := f.Git.Head(ctx, valuesRepo)
		Expect(err).NotTo(HaveOccurred())
		none := strings.Repeat("0123456789", 4)
		for _, protocol := range []string{"", "version=2"} {
			answer := wants("cluster2", own, commit, protocol).answer(ctx, "cluster2", commit)
			Expect(answer).To(ContainSubstring("not our ref"))
			Expect(answer).To(Equal(wants("cluster2", own, none, protocol).answer(ctx, "cluster2", none)))
			AddReportEntry(fmt.Sprintf("cluster2 wants the commit from its own repository, %q: %s", protocol, answer))
		}
	})

	It("keep their Applications without towline-source, and follow again afterwards", long, func(ctx SpecContext) {
		const name, on = "door-outage", "cluster1"
		through(ctx, name, on, from(git.repo(ownRepo), "plain"))
		expectAtRest(ctx, name)
		Expect(server.Kill()).To(Succeed())
		sha := commit(ctx, "outage")
		for range 3 {
			stays(ctx, on, name)
		}
		expectHealthy(ctx, name)
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		for _, args := range [][]string{{"check"}, {"why", "-n", argocdNamespace, name}} {
			Eventually(ctx, func(ctx context.Context) (string, error) {
				out, _, err := ran(ctx, plugin, f.Hub.Kubeconfig(), args...)
				return out, err
			}).Should(ContainSubstring("towline-source on the hub does not answer"))
		}
		began := time.Now()
		Expect(server.Restart(ctx)).To(Succeed())
		AddReportEntry(fmt.Sprintf("towline-source is ready after %.1f s", time.Since(began).Seconds()))
		follows(ctx, on, name, sha, "outage")
		AddReportEntry(fmt.Sprintf("the commit is applied %.1f s after the restart", time.Since(began).Seconds()))
	})

	It("show why the hub cannot read a repository", long, func(ctx SpecContext) {
		const name, on = "door-refused", "cluster1"
		through(ctx, name, on, from(git.repo(ownRepo), "plain"))
		expectAtRest(ctx, name)
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		object := source.Name(argocd.DefaultProject, git.repo(ownRepo))
		expect := func(says, reason string) {
			GinkgoHelper()
			AddReportEntry("the condition on the hub", refusedRead(ctx, on, name, says))
			listed, err := f.Hub.Kubectl(ctx, "get", "repositories", "--namespace", on)
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Split(listed, "\n")).To(ContainElement(And(HavePrefix(object+" "), ContainSubstring(" "+reason))))
			Eventually(ctx, func(ctx context.Context) (string, error) {
				out, _, err := ran(ctx, plugin, f.Hub.Kubeconfig(), "why", "-n", argocdNamespace, name)
				return out, err
			}).Should(And(ContainSubstring("the hub cannot read "+git.repo(ownRepo)), ContainSubstring(says),
				MatchRegexp(`reason:? +`+reason), ContainSubstring("kubectl get repositories -n "+on+" "+object)))
			there, err := read(cluster[on], named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(fmt.Sprint(there.Status.Conditions)).NotTo(ContainSubstring(git.address()))
		}
		git.password.Store("changed")
		expect("refuses the credential of the hub", "credential")
		git.down.Store(true)
		expect("cannot reach the Git server", "unreachable")
		git.down.Store(false)
		git.password.Store(hubPassword)
		hardRefresh(ctx, on, name)
		expectHealthy(ctx, name)
		expectNoCondition(ctx, name, "ComparisonError")
	})

	It("read with the Secret of their own AppProject", long, func(ctx SpecContext) {
		const on, good, bad = "cluster1", "door-good", "door-bad"
		repo := git.repo(ownRepo)
		secretOf := func(project, password string) string {
			return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":%q,"name":%q,"labels":{%q:%q}},`+
				`"stringData":{"url":%q,"project":%q,"username":"hub","password":%q}}`,
				argocdNamespace, project, apis.LabelSecretType, apis.SecretTypeRepository, repo, project, password)
		}
		for project, password := range map[string]string{good: hubPassword, bad: "of another account"} {
			apply(ctx, fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"namespace":%q,"name":%q},`+
				`"spec":{"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}],"clusterResourceWhitelist":[{"group":"*","kind":"*"}]}}`,
				argocdNamespace, project))
			apply(ctx, secretOf(project, password))
			DeferCleanup(func(ctx context.Context) {
				Expect(hub.Delete(ctx, secretOn(argocdNamespace, project))).To(Succeed())
				Expect(hub.Delete(ctx, projectNamed(project))).To(Succeed())
			})
			standalone(ctx, project, on, func(b *fixture.ApplicationBuilder) {
				of := strings.Replace(sourceSpec(project, from(repo, "plain")), `"project":"default"`, fmt.Sprintf(`"project":%q`, project), 1)
				b.Spec(of).Annotation(apis.AnnotationSource, apis.SourceHub)
			})
		}
		expectCondition(ctx, bad, "ComparisonError", "refuses the credential of the hub")
		expectAtRest(ctx, good)
		hardRefresh(ctx, on, good)
		expectAtRest(ctx, good)
		expectNoCondition(ctx, good, "ComparisonError")
		served, err := f.Hub.Kubectl(ctx, "get", "repositories", "--namespace", on)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("two AppProjects with different Secrets for one address", served)
		apply(ctx, secretOf(bad, hubPassword))
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			hardRefresh(ctx, on, bad)
			app, err := read(hub, named(bad))(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(app.Status.Health.Status).To(Equal("Healthy"))
		}).WithPolling(2 * time.Second).Should(Succeed())
	})

	It("follow a Git server that hangs, breaks connections, and takes a commit back", long, func(ctx SpecContext) {
		const name, on = "door-git-faults", "cluster1"
		through(ctx, name, on, from(git.repo(ownRepo), "plain"))
		expectAtRest(ctx, name)
		before, err := f.Git.Head(ctx, ownRepo)
		Expect(err).NotTo(HaveOccurred())

		answer := git.hang()
		DeferCleanup(answer)
		sha := commit(ctx, "hanging")
		hangs(ctx, on, name)
		AddReportEntry("a server that does not answer", refusedRead(ctx, on, name, "cannot reach the Git server"))
		answer()
		follows(ctx, on, name, sha, "hanging")

		git.cut.Store(true)
		DeferCleanup(func() { git.cut.Store(false) })
		sha = commit(ctx, "broken")
		AddReportEntry("a broken connection", refusedRead(ctx, on, name, "the connection to the Git server breaks"))
		git.cut.Store(false)
		follows(ctx, on, name, sha, "broken")

		value, err := f.Git.Read(ctx, ownRepo, configFile)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Git.Branch(ctx, ownRepo, "main", before)).To(Succeed())
		former, err := f.Git.Read(ctx, ownRepo, configFile)
		Expect(err).NotTo(HaveOccurred())
		Expect(former).NotTo(Equal(value))
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			hardRefresh(ctx, on, name)
			g.Expect(read(hub, named(name))(ctx)).To(HaveField("Status.Sync.Revision", before))
		}).WithPolling(2 * time.Second).Should(Succeed())
		expectAtRest(ctx, name)
	})

	// In ten minutes, each time of the parties passes: Argo CD compares again after two or three minutes and keeps the
	// references of a repository for three, Open Cluster Management gives up a silent cluster after five, and the agent
	// pauses for up to ten.
	It("keep their Applications while the hub is away for ten minutes, and follow a restarted agent", long, func(ctx SpecContext) {
		const name, away = "door-hub-away-", 10 * time.Minute
		for _, on := range on {
			through(ctx, name+on, on, from(git.repo(ownRepo), "plain"))
			expectAtRest(ctx, name+on)
		}
		compared := map[string]map[string]bool{}
		var sha string
		back := outage(ctx, func(string) {
			sha = commit(ctx, "hub away")
			Consistently(ctx, func(g Gomega, ctx context.Context) {
				for _, on := range on {
					there, err := read(cluster[on], named(name+on))(ctx)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(there.Status.Sync.Status).To(Equal("Synced"), on)
					g.Expect(there.Status.Health.Status).To(Equal("Healthy"), on)
					g.Expect(there.Status.Conditions).To(BeEmpty(), on)
					if compared[on] == nil {
						compared[on] = map[string]bool{}
					}
					compared[on][there.Status.ReconciledAt] = true
				}
			}).WithTimeout(away).WithPolling(2 * time.Second).Should(Succeed())
			for _, on := range on {
				stays(ctx, on, name+on)
			}
		})
		Expect(tow.Exited()).To(BeClosed(), "without the hub, the controller ends, and a Deployment restarts the controller")
		Expect(tow.Restart(ctx)).To(Succeed())
		for _, on := range on {
			AddReportEntry(fmt.Sprintf("without the hub, Argo CD on %s compared %d times by itself", on, len(compared[on])-1))
			Expect(compared[on]).NotTo(HaveLen(1), on)
			follows(ctx, on, name+on, sha, "hub away")
			AddReportEntry(fmt.Sprintf("the commit is on %s %.1f s after the return of the hub", on, time.Since(back).Seconds()))
		}
		const restarted = "cluster1"
		agents[restarted].Stop()
		sha = commit(ctx, "agent away")
		Expect(agents[restarted].Restart(ctx)).To(Succeed())
		follows(ctx, restarted, name+restarted, sha, "agent away")
	})

	It("roll back to a repository of the history, and hold other repositories back", long, func(ctx SpecContext) {
		argo := login(ctx)
		Expect(f.Git.Create(ctx, formerRepo, configContent("former"))).To(Succeed())
		former := source.Name(argocd.DefaultProject, git.repo(formerRepo))
		for _, on := range on {
			name := "door-rollback-" + on
			served := func(ctx context.Context) int {
				code, _ := askHub(ctx, on, source.Path(on, former)+"/info/refs?service=git-upload-pack")
				return code
			}
			through(ctx, name, on, from(git.repo(formerRepo), "plain"))
			expectAtRest(ctx, name)
			patchHub(ctx, name, `{"spec":{"source":{"repoURL":"`+git.repo(ownRepo)+`"}}}`)
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.History", HaveLen(2)))
			entry := fmt.Sprint(expectAtRest(ctx, name).Status.History[0].ID)
			patchHub(ctx, name, `{"spec":{"syncPolicy":{"automated":null}}}`)
			Eventually(ctx, read(cluster[on], named(name))).ShouldNot(HaveField("Spec.Raw", ContainSubstring("automated")))

			foreign := git.repo(valuesRepo)
			patchHub(ctx, name, `{"operation":{"sync":{"source":{"repoURL":"`+foreign+`","path":"."}}}}`)
			expectCondition(ctx, name, "PropagationError", foreign)
			message, err := conditionMessage(ctx, name, "PropagationError")
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry("the condition on the hub", message)
			// The cluster's Argo CD may still heal the Application: the decision began before the end of the automated sync.
			Consistently(ctx, operationOn(on, name)).WithTimeout(5 * time.Second).ShouldNot(
				Or(ContainSubstring(foreign), ContainSubstring(source.Name(argocd.DefaultProject, foreign))))
			Expect(argo(ctx, "app", "terminate-op", name)).To(ContainSubstring("terminating"))
			expectNoCondition(ctx, name, "PropagationError")

			By("rolling back without the former repository on " + on)
			Eventually(ctx, served).Should(Equal(404), "before the operation")
			forget(ctx, on)
			began := time.Now()
			if f.Cluster(on).Isolated() {
				Expect(clonesOn(on)()).NotTo(ContainSubstring(former))
			}
			Expect(argo(ctx, "app", "rollback", name, entry, "--timeout", "100")).To(MatchRegexp(`Phase:\s+Succeeded`))
			Eventually(ctx, read(cluster[on], configMapOn(name, "config"))).Should(HaveField("Data", HaveKeyWithValue("value", "former")))
			if f.Cluster(on).Isolated() {
				Expect(clonesOn(on)()).To(ContainSubstring(former), "fetched for the operation")
			}
			AddReportEntry(fmt.Sprintf("the rollback on %s, with a fetch of the former repository, took %.1f s", on, time.Since(began).Seconds()))
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.History", And(HaveLen(3),
				ContainElement(HaveField("Source.RepoURL", git.repo(formerRepo))))))
			there, err := f.Cluster(on).Kubectl(ctx, "get", "application", name, "--namespace", argocdNamespace, "--output", "yaml")
			Expect(err).NotTo(HaveOccurred())
			Expect(there).NotTo(ContainSubstring(git.address()))
			Eventually(ctx, served).Should(Equal(404), "after the operation")
		}
	})

	It("outlast the end of towline-source in each phase of a fetch, and follow a second process", long, func(ctx SpecContext) {
		const name, on, first = "door-replicas", "cluster1", "door-first-read"
		// dies ends towline-source as soon as the Git server holds a request, and starts towline-source again.
		dies := func(phase string, answer func(), held func()) {
			GinkgoHelper()
			By("ending towline-source during " + phase)
			DeferCleanup(answer)
			held()
			Expect(server.Kill()).To(Succeed())
			answer()
			Expect(server.Restart(ctx)).To(Succeed())
		}
		through(ctx, name, on, from(git.repo(ownRepo), "plain"))
		expectAtRest(ctx, name)
		for phase, hang := range map[string]func() func(){"the look at the references": git.hang, "the pack of a commit": git.hangInPacks} {
			answer := hang()
			sha := commit(ctx, phase)
			dies(phase, answer, func() { hangs(ctx, on, name) })
			follows(ctx, on, name, sha, phase)
		}

		Expect(f.Git.Create(ctx, firstRepo, configContent("first"))).To(Succeed())
		dies("the first clone", git.hangInPacks(), func() {
			through(ctx, first, on, from(git.repo(firstRepo), "plain"))
			Eventually(git.held).ShouldNot(BeZero())
		})
		sha, err := f.Git.Head(ctx, firstRepo)
		Expect(err).NotTo(HaveOccurred())
		follows(ctx, on, first, sha, "first")

		second, err := towline.RunSecondSource(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(second.Stop)
		follows(ctx, on, name, commit(ctx, "second"), "second")
		Expect(server.Kill()).To(Succeed())
		follows(ctx, on, name, commit(ctx, "second alone"), "second alone")
	})
})
