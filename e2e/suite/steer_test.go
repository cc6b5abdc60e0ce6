package suite

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// steered is an ApplicationSet with a single Application, on cluster1, without automated sync.
const steered = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: steered, namespace: argocd}
spec:
  generators: [{list: {elements: [{cluster: cluster1}]}}]
  template:
    metadata:
      name: 'steered-{{cluster}}'
      labels: {%s: "true"}
      annotations: {%s: '{{cluster}}', %s: "true"}
    spec:
      project: default
      source: {repoURL: %q, path: guestbook, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: steered}
      syncPolicy: {syncOptions: [CreateNamespace=true]}
`

var _ = Describe("kubectl towline steers", Ordered, usesRights, func() {
	var plugin string

	// does runs a verb on Applications, waits for the effect, and expects exit code 0.
	does := func(ctx context.Context, args ...string) string {
		GinkgoHelper()
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), append(args, "-n", argocdNamespace, "--wait", "--timeout", soon.String())...)
		Expect(code).To(BeZero(), out)
		return out
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		plugin, err = towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
	})

	It("a standalone Application: all verbs", func(ctx SpecContext) {
		app := standalone(ctx, "verbs", "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(manual("guestbook", "verbs")) })
		Eventually(ctx, read(hub, app)).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))
		Expect(does(ctx, "sync", app.Name)).To(ContainSubstring("the operation succeeded"))
		expectHealthy(ctx, app.Name)
		Expect(does(ctx, "refresh", app.Name, "--hard")).To(ContainSubstring("compared at"))

		does(ctx, "pause", app.Name)
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "sync", app.Name, "-n", argocdNamespace, "--wait", "--timeout", "10s")
		Expect(code).To(Equal(3), out)
		Expect(out).To(ContainSubstring("paused by the annotation"))
		does(ctx, "stop", app.Name)
		does(ctx, "resume", app.Name)

		// The move waits until the Application is healthy on the new cluster. Automated sync makes the Application
		// healthy.
		patchHub(ctx, app.Name, `{"spec":{"syncPolicy":{"automated":{}}}}`)
		does(ctx, "move", app.Name, "--to", "cluster2", "--yes")
		Expect(read(cluster["cluster1"], named(app.Name))(ctx)).To(BeNil())
		before := deployment(ctx, "cluster2", app.Name)

		does(ctx, "release", app.Name)
		Expect(deployment(ctx, "cluster2", app.Name).UID).To(Equal(before.UID))
		patch := `{"spec":{"revisionHistoryLimit":7}}`
		_, err := f.Cluster("cluster2").Kubectl(ctx, "patch", "applications.argoproj.io", app.Name, "-n", argocdNamespace, "--type=merge", "-p", patch)
		Expect(err).NotTo(HaveOccurred())
		patchHub(ctx, app.Name, `{"spec":{"revisionHistoryLimit":8}}`)
		does(ctx, "release", app.Name, "--undo")
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "revisionHistoryLimit")
		does(ctx, "adopt", app.Name)
		Expect(deployment(ctx, "cluster2", app.Name).UID).To(Equal(before.UID))

		does(ctx, "delete", app.Name, "--yes")
		Expect(read(cluster["cluster2"], guestbookOf(app.Name))(ctx)).To(BeNil())
	}, NodeTimeout(5*soon))

	It("an operation that does not end: stop", inEtcd, func(ctx SpecContext) {
		app := hangs(ctx, "stopped", "cluster1")
		Eventually(ctx, read(hub, app)).Should(HaveField("Operation", BeNil()))
		Expect(does(ctx, "stop", app.Name)).To(ContainSubstring("the operation has ended"))
		does(ctx, "delete", app.Name, "--yes", "--cascade=false")
		Eventually(ctx, read(cluster["cluster1"], named(app.Name))).Should(BeNil())
	})

	It("the Application of a set: lasting changes, and changes for the template", func(ctx SpecContext) {
		apply(ctx, fmt.Sprintf(steered, apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile, f.Git.URL(fleet.AppsRepo)))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applicationsets.argoproj.io", "steered", "-n", argocdNamespace)
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, read(hub, named("steered-cluster1"))).Should(BeNil())
		})
		const child = "steered-cluster1"
		Eventually(ctx, read(hub, named(child))).Should(And(Not(BeNil()), HaveField("Status.Sync", Not(BeNil()))))
		does(ctx, "sync", child)
		does(ctx, "refresh", child)
		for _, args := range [][]string{
			{"pause", child}, {"resume", child}, {"release", child}, {"adopt", child}, {"move", child, "--to", "cluster2"}, {"delete", child, "--yes"},
		} {
			out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), append(args, "-n", argocdNamespace)...)
			if args[0] == "resume" {
				Expect(code).To(BeZero(), out)
				continue
			}
			Expect(code).To(Equal(2), out)
			Expect(out).To(ContainSubstring("ApplicationSet argocd/steered"))
		}
		Eventually(ctx, read(hub, named(child))).Should(And(HaveField("DeletionTimestamp", BeNil()), HaveField("Annotations", HaveLen(2))))

		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "pause", "--applicationset", "steered", "-n", argocdNamespace)
		Expect(code).To(BeZero(), out)
		expectCondition(ctx, child, apis.ConditionPausedWarning, "ApplicationSet")
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "resume", child, "-n", argocdNamespace)
		Expect(code).To(Equal(2), out)
		Expect(out).To(ContainSubstring("is not paused by itself"))
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "resume", "--applicationset", "steered", "-n", argocdNamespace)
		Expect(code).To(BeZero(), out)
		expectNoCondition(ctx, child, apis.ConditionPausedWarning)
	}, NodeTimeout(5*soon))

})

var _ = Describe("kubectl towline steers a whole cluster", Serial, func() {
	It("by pause and resume", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, "of-a-paused-cluster", "cluster2")
		expectHealthy(ctx, app.Name)
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "pause", "--cluster", "cluster2")
		DeferCleanup(func(ctx SpecContext) {
			out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "resume", "--cluster", "cluster2")
			Expect(code).To(BeZero(), out)
		})
		Expect(code).To(BeZero(), out)
		expectCondition(ctx, app.Name, apis.ConditionPausedWarning, "cluster2")
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "resume", "--cluster", "cluster2")
		Expect(code).To(BeZero(), out)
		expectNoCondition(ctx, app.Name, apis.ConditionPausedWarning)
	})
})

var _ = Describe("kubectl towline check", func() {
	It("checks the hub, a cluster from the cluster's side, and the effects of a takeover", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, "checked", "nowhere")
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "nowhere")

		// The fleet's controllers are processes: their Deployments have no Pods.
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "check")
		Expect(code).To(Equal(2), out)
		schemas := `✓ schemas of CRDs`
		if oldest() {
			schemas = `… schemas of CRDs\s+the CRD manifestworks\S+ has no \S+feedbackScrapeType` // since OCM 1.2
		}
		Expect(out).To(And(
			MatchRegexp(`✓ CRDs\s+the hub serves the CRDs of Argo CD and Open Cluster Management`), MatchRegexp(`✓ admission policies\s+all are there`),
			MatchRegexp(schemas), MatchRegexp(`✓ other controllers`), ContainSubstring("has no ready Pod")))
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "check", "--pre")
		Expect(code).To(Equal(2), out)
		Expect(out).To(MatchRegexp(`✓ your rights`))
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "check", "--cluster-kubeconfig", f.Cluster("cluster1").Kubeconfig())
		Expect(code).To(Equal(2), out)
		Expect(out).To(ContainSubstring("rights of the work agent"))
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "check", "--takeover")
		Expect(code).To(Equal(2), out)
		Expect(out).To(MatchRegexp(`✗ refused\s+.* reason ClusterNotFound: .*argocd/checked`))

		// The demo shows its processes as Deployments.
		replicas, err := f.Hub.Kubectl(ctx, "-n", argocdNamespace, "get", "deployment/towline-controller", "-o", "jsonpath={.spec.replicas}")
		Expect(err).NotTo(HaveOccurred())
		Expect(towline.Declare(ctx, f)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			for _, args := range [][]string{
				{"delete", "deployment/argocd-applicationset-controller"},
				{"scale", "deployment/towline-controller", "--replicas=" + replicas},
				{"patch", "deployment/towline-controller", "--subresource=status", "--type=merge", `--patch={"status": null}`},
			} {
				_, err := f.Hub.Kubectl(ctx, append([]string{"-n", argocdNamespace}, args...)...)
				Expect(err).NotTo(HaveOccurred())
			}
		})
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "check")
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(MatchRegexp(`✓ Kubernetes\s+v1\.`), MatchRegexp(`✓ ApplicationSets\s+argocd/argocd-applicationset-controller, version v`),
			MatchRegexp(`✓ Towline\s+Deployment argocd/towline-controller has 1 ready`), MatchRegexp(`✓ leader`)))
		Expect(towline.DeclareOn(ctx, f, f.Cluster("cluster1"))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			for _, args := range [][]string{
				{"-n", argocdNamespace, "delete", "statefulset/argocd-application-controller"},
				{"-n", "open-cluster-management-agent", "delete", "deployment/klusterlet-work-agent"},
			} {
				_, err := f.Cluster("cluster1").Kubectl(ctx, args...)
				Expect(err).NotTo(HaveOccurred())
			}
		})
		out, code = runs(ctx, plugin, f.Hub.Kubeconfig(), "check", "--cluster-kubeconfig", f.Cluster("cluster1").Kubeconfig())
		Expect(code).To(BeZero(), out)
	})
})

var _ = Describe("kubectl towline bundle", func() {
	It("collects the facts for an issue, and no password of a repository", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		const password = "hunter2hunter2"
		private := strings.ReplaceAll(spec("guestbook", "bundled"), `"repoURL":"http://`, `"repoURL":"http://user:`+password+"@")
		Expect(private).To(ContainSubstring(password))
		app := standalone(ctx, "bundled", "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(private) })
		Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
		file := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "bundle", "-f", file)
		Expect(code).To(BeZero(), out)
		text, err := exec.CommandContext(ctx, "tar", "--to-stdout", "-xzf", file).Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(ContainSubstring(password))
		Expect(string(text)).To(And(ContainSubstring("kind: ManifestWork"), ContainSubstring("name: bundled"), ContainSubstring("kind: Event")))
		names, err := exec.CommandContext(ctx, "tar", "-tzf", file).Output()
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("files", string(names))
	})
})
