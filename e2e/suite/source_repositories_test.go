package suite

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/source"
)

var _ = Describe("A repository through the hub", Ordered, Serial, inEtcd, long, func() {
	on := []string{"cluster1", "cluster2"}
	var git *secureGit
	doors := map[string]string{}

	BeforeAll(func(ctx SpecContext) {
		git, _ = serveRepositories(ctx)
		for _, on := range on {
			_, doors[on] = openDoor(ctx, on)
		}
	})

	It("follows the choice, the permission, a move, a release and an adoption, and the workload stays", func(ctx SpecContext) {
		const name, home, away = "door-life", "cluster1", "cluster2"
		repo := f.Git.URL(fleet.AppsRepo)
		l := &sourceLife{name: name, repo: repo}
		apply(ctx, ownProject(name, repo, ""))
		DeferCleanup(func(ctx context.Context) { Expect(hub.Delete(ctx, projectNamed(name))).To(Succeed()) })
		app := standalone(ctx, name, home, func(b *fixture.ApplicationBuilder) {
			b.Spec(specOf(name, "guestbook", name)).Annotation(apis.AnnotationSource, apis.SourceHub)
		})
		atAgent := func(on string) string { return source.At("https://"+doors[on], name, repo) }
		expectAtRest(ctx, name)
		l.begin(ctx, home)
		l.expect(ctx, home, atAgent(home))
		l.expectOpen(ctx, home)

		By("direct, and back")
		patchHub(ctx, name, annotationPatch(apis.AnnotationSource, apis.SourceDirect))
		l.expect(ctx, home, repo)
		l.expectClosed(ctx, home)
		patchHub(ctx, name, annotationPatch(apis.AnnotationSource, apis.SourceHub))
		l.expect(ctx, home, atAgent(home))
		l.expectOpen(ctx, home)

		By("without the permission of the AppProject, and back")
		apply(ctx, ownProject(name, "https://git.example.com/other.git", ""))
		expectForbidden(ctx, app, "does not permit the repository")
		l.expectClosed(ctx, home)
		l.expectSame(ctx, home)
		apply(ctx, ownProject(name, repo, ""))
		expectNoCondition(ctx, name, apis.ConditionPropagationForbiddenError)
		l.expectOpen(ctx, home)
		l.expect(ctx, home, atAgent(home))

		By("a move to another cluster")
		patchHub(ctx, name, annotationPatch(apis.AnnotationCluster, away))
		Eventually(ctx, read(cluster[home], named(name))).Should(BeNil())
		expectAtRest(ctx, name)
		l.begin(ctx, away)
		l.expect(ctx, away, atAgent(away))
		l.expectOpen(ctx, away)
		l.expectClosed(ctx, home)

		By("a release")
		patchHub(ctx, name, annotationPatch(apis.AnnotationRelease, "true"))
		Eventually(ctx, read(hub, workOf(must(read(hub, named(name))(ctx))))).Should(BeNil())
		l.expect(ctx, away, repo)
		Expect(read(cluster[away], named(name))(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
		l.expectClosed(ctx, away)

		By("an adoption, and direct")
		patchHub(ctx, name, annotationPatch(apis.AnnotationRelease, ""))
		l.expect(ctx, away, atAgent(away))
		Expect(read(cluster[away], named(name))(ctx)).To(HaveField("OwnerReferences", HaveLen(1)))
		l.expectOpen(ctx, away)
		expectAtRest(ctx, name)
		patchHub(ctx, name, annotationPatch(apis.AnnotationSource, apis.SourceDirect))
		l.expect(ctx, away, repo)
		l.expectClosed(ctx, away)
		expectAtRest(ctx, name)
		l.expectSame(ctx, away)
	})

	// Without the webhook, Argo CD compares again after its own interval, 120 to 300 s in version 3, and 180 to 360 s in 2.14. A
	// comparison may use references of a repository from three minutes before.
	It("is read after a commit within seconds by the webhook of the hub, and without the webhook after Argo CD's interval", func(ctx SpecContext) {
		const repo = "door-webhook"
		Expect(f.Git.Create(ctx, repo, configContent("first"))).To(Succeed())
		names := map[string]string{}
		for _, on := range on {
			for _, way := range []string{apis.SourceDirect, apis.SourceHub} {
				name := fmt.Sprintf("door-%s-%s", way, on)
				names[name] = on
				standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
					b.Spec(sourceSpec(name, from(f.Git.URL(repo), "plain"))).Annotation(apis.AnnotationSource, way)
				})
			}
		}
		best := map[string]time.Duration{}
		for i := range 3 {
			for name := range names {
				expectAtRest(ctx, name)
			}
			value := fmt.Sprint("by webhook ", i)
			began := time.Now()
			callWebhook(ctx, f.Git.URL(repo), setValue(ctx, repo, value), configFile)
			for name, took := range arrivals(ctx, names, value, began, soon) {
				AddReportEntry(fmt.Sprintf("commit %d, by the webhook: %s after %.2f s", i+1, name, took.Seconds()))
				if best[name] == 0 || took < best[name] {
					best[name] = took
				}
			}
		}
		Expect(best).To(HaveEach(BeNumerically("<", 5*time.Second)))
		for name := range names {
			expectAtRest(ctx, name)
		}
		began := time.Now()
		setValue(ctx, repo, "by polling")
		for name, took := range arrivals(ctx, names, "by polling", began, 10*time.Minute) {
			AddReportEntry(fmt.Sprintf("without the webhook: %s (Argo CD %s) after %.1f s", name, f.Cluster(names[name]).ArgoCDVersion(), took.Seconds()))
		}
	})

	It("arrives whole after more than a minute of slow reading through the hub's API server", func(ctx SpecContext) {
		const name, on, megabytes = "door-slow", "cluster1", 32
		large := make([]byte, megabytes<<20)
		_, _ = rand.Read(large)
		content := configContent("0")
		content["large"] = &fstest.MapFile{Data: large, Mode: 0o644}
		Expect(f.Git.Create(ctx, name, content)).To(Succeed())
		sha, err := f.Git.Head(ctx, name)
		Expect(err).NotTo(HaveOccurred())
		through(ctx, name, on, from(f.Git.URL(name), "plain"))
		expectHealthy(ctx, name)

		slow, began := newSlowHub(on), time.Now()
		path, dir := source.Path(on, source.Name(argocd.DefaultProject, f.Git.URL(name))), filepath.Join(GinkgoT().TempDir(), "clone")
		run := func(args ...string) string {
			GinkgoHelper()
			out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(out))
			return strings.TrimSpace(string(out))
		}
		run("clone", "--quiet", "--bare", slow.URL+path, dir)
		ended := time.Since(began)
		first := slow.first().Sub(began)
		AddReportEntry(fmt.Sprintf("of %d MiB, the first byte came after %.1f s, and the end after %.1f s", megabytes, first.Seconds(), ended.Seconds()))
		Expect(first).To(BeNumerically("<", ended-time.Minute))
		run("-C", dir, "fsck", "--full", "--strict")
		Expect(run("-C", dir, "rev-parse", "HEAD")).To(Equal(sha))
		Eventually(ctx, func() time.Duration { return longestRequest(path) }).Should(BeNumerically(">", time.Minute))
		AddReportEntry(fmt.Sprintf("for the hub's API server, the request took %s", longestRequest(path)))
	})

	It("has its address in Git for RollingSync, notifications and a promotion", func(ctx SpecContext) {
		const set = "door-rollout"
		Expect(f.Git.Create(ctx, set, configContent("first"))).To(Succeed())
		sink := listen()
		DeferCleanup(sink.server.Close)
		startNotifications(ctx, sink.server.URL)
		names := map[string]string{}
		for _, on := range on {
			names[on] = set + "-" + on
		}
		withoutApplicationSet(set, slices.Collect(maps.Values(names))...)
		apply(ctx, subscribedThroughHub(rollout(set, false), len(on)))
		// deployed returns when the cluster began and ended its first sync of a commit.
		deployed := func(on, sha string) argocd.Deployment {
			GinkgoHelper()
			var app *argocd.Application
			Eventually(ctx, func(g Gomega, ctx context.Context) {
				var err error
				app, err = read(cluster[on], named(names[on]))(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(app).To(HaveField("Status.History", ContainElement(HaveField("Revision", sha))))
			}).Should(Succeed())
			return app.Status.History[slices.IndexFunc(app.Status.History, func(d argocd.Deployment) bool { return d.Revision == sha })]
		}
		expectRolledOut := func(sha, value string) {
			GinkgoHelper()
			for _, on := range on {
				expectThrough(ctx, on, doors[on], names[on], f.Git.URL(set))
			}
			canary, prod := deployed(on[0], sha), deployed(on[1], sha)
			AddReportEntry(fmt.Sprintf("%s: %s until %s, then %s until %s", sha,
				canary.DeployStartedAt, canary.DeployedAt, prod.DeployStartedAt, prod.DeployedAt))
			Expect(prod.DeployStartedAt >= canary.DeployedAt).To(BeTrue(), "the second step began before the end of the first")
			for _, on := range on {
				Eventually(ctx, read(cluster[on], configMapOn(set, "config"))).Should(HaveField("Data", HaveKeyWithValue("value", value)))
				Eventually(ctx, sink.heard).Should(ContainElement(message{
					Of: "on-sync-succeeded", App: names[on], Phase: "Succeeded", Revision: sha, Repo: f.Git.URL(set),
				}))
			}
		}
		first, err := f.Git.Head(ctx, set)
		Expect(err).NotTo(HaveOccurred())
		expectRolledOut(first, "first")
		expectRollOutOver(ctx, set, slices.Collect(maps.Values(names)))
		second := setValue(ctx, set, "second")
		// The controller takes a cluster for done if the hub does not know that the cluster is behind, and then starts the next step.
		for _, on := range on {
			compares(ctx, on, names[on], second)
		}
		expectRolledOut(second, "second")
		AddReportEntry("the webhook got", fmt.Sprint(sink.heard()))

		By("a promotion")
		const name = "door-promoted"
		standalone(ctx, name, on[0], func(b *fixture.ApplicationBuilder) { // without automated syncs: a self-heal could end the request
			b.Spec(withoutAutomation(sourceSpec(name, from(f.Git.URL(set), "plain")))).Annotation(apis.AnnotationSource, apis.SourceHub)
		})
		Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))
		third := setValue(ctx, set, "third")
		began := time.Now()
		promote(ctx, name, "p1", third)
		AddReportEntry(fmt.Sprintf("the promotion ended after %s", time.Since(began).Round(time.Millisecond)))
		app, err := read(hub, named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(app.Status.OperationState.SyncResult.Revision).To(Equal(third))
		expectThrough(ctx, on[0], doors[on[0]], name, f.Git.URL(set))
		Expect(read(cluster[on[0]], configMapOn(name, "config"))(ctx)).To(HaveField("Data", HaveKeyWithValue("value", "third")))
	})

	It("is read at each form of a targetRevision", func(ctx SpecContext) {
		const repo = "door-revisions"
		Expect(f.Git.Create(ctx, repo, configContent("first"))).To(Succeed())
		first, err := f.Git.Head(ctx, repo)
		Expect(err).NotTo(HaveOccurred())
		second, third := setValue(ctx, repo, "second"), setValue(ctx, repo, "third")
		main := setValue(ctx, repo, "main")
		pull := setValue(ctx, repo, "pull")
		Expect(f.Git.Reference(ctx, repo, "refs/pull/7/head", pull)).To(Succeed())
		Expect(f.Git.Branch(ctx, repo, "main", main)).To(Succeed())
		for tag, sha := range map[string]string{"v1.0.0": first, "v1.0.1": second, "v2.0.0": third} {
			Expect(f.Git.Tag(ctx, repo, tag, sha)).To(Succeed())
		}
		type form struct{ revision, sha, value string }
		forms := map[string]form{
			"tag":       {"v1.0.0", first, "first"},
			"full-tag":  {"refs/tags/v1.0.0", first, "first"},
			"range":     {"1.0.*", second, "second"},
			"sha":       {third, third, "third"},
			"short-sha": {third[:8], third, "third"},
			"pull":      {"refs/pull/7/head", pull, "pull"},
			"branch":    {"refs/heads/main", main, "main"},
			"head":      {"HEAD", main, "main"},
		}
		at := func(kind, on string) string { return "door-" + kind + "-" + on }
		for kind, form := range forms {
			for _, on := range on {
				src := from(f.Git.URL(repo), "plain")
				src["targetRevision"] = form.revision
				through(ctx, at(kind, on), on, src)
			}
		}
		for kind, form := range forms {
			for _, on := range on {
				app := expectHealthy(ctx, at(kind, on))
				AddReportEntry(fmt.Sprintf("%s on %s is %s", form.revision, on, app.Status.Sync.Revision))
				Expect(form.sha).To(HavePrefix(app.Status.Sync.Revision), kind) // a short SHA stays short
				Expect(read(cluster[on], configMapOn(at(kind, on), "config"))(ctx)).To(HaveField("Data", HaveKeyWithValue("value", form.value)))
			}
		}

		By("a new tag in the range, and a new commit of the pull request")
		newest := setValue(ctx, repo, "newest")
		Expect(f.Git.Tag(ctx, repo, "v1.0.2", newest)).To(Succeed())
		Expect(f.Git.Reference(ctx, repo, "refs/pull/7/head", newest)).To(Succeed())
		for _, on := range on {
			follows(ctx, on, at("range", on), newest, "newest")
			follows(ctx, on, at("pull", on), newest, "newest")
		}
	})

	// Argo CD reads submodules at each comparison of a repository, also for a path without submodules. The cluster asks the
	// server in .gitmodules, and resolves a relative address at the agent.
	It("needs submodules at addresses that the cluster can read, and the hub says so", func(ctx SpecContext) {
		const lib = "door-lib"
		Expect(f.Git.Create(ctx, lib, configContent("lib"))).To(Succeed())
		sha, err := f.Git.Head(ctx, lib)
		Expect(err).NotTo(HaveOccurred())
		isolate(ctx, on, slices.Collect(maps.Values(doors))...)
		for kind, address := range map[string]string{"absolute": git.repo(lib), "relative": "../" + lib + ".git"} {
			repo := "door-submodule-" + kind
			Expect(f.Git.Create(ctx, repo, configContent(kind))).To(Succeed())
			_, err := f.Git.Submodule(ctx, repo, "lib", address, sha)
			Expect(err).NotTo(HaveOccurred())
			for _, on := range on {
				name := repo + "-" + on
				through(ctx, name, on, from(git.repo(repo), "plain"))
				expectCondition(ctx, name, "ComparisonError", "failed to update submodules: `git submodule update --init --recursive` failed")
				message, err := conditionMessage(ctx, name, "ComparisonError")
				Expect(err).NotTo(HaveOccurred())
				AddReportEntry("the submodule "+address+" on "+on, message)
				switch {
				case kind == "relative":
					Expect(message).To(ContainSubstring("remote: this cluster reads no repository of this name through the hub\n" +
						"fatal: repository 'https://" + doors[on] + "/" + lib + ".git/' not found"))
				case f.Cluster(on).Isolated():
					Expect(message).To(ContainSubstring("unable to access '" + address + "/': Failed to connect"))
				}
			}
		}
	})
})
