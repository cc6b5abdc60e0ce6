package suite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// paged is an ApplicationSet on two clusters. Its Applications do not heal changes on a cluster.
const paged = `
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: paged, namespace: argocd}
spec:
  generators: [{list: {elements: [{cluster: cluster1}, {cluster: cluster2}]}}]
  template:
    metadata:
      name: 'paged-{{cluster}}'
      labels: {%s: "true"}
      annotations: {%s: '{{cluster}}', %s: "true"}
      finalizers: [%s]
    spec:
      project: default
      source: {repoURL: %q, path: guestbook, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: paged}
      syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true]}
`

// pageTenants are two teams. The user page-a may read the Applications and ApplicationSets of team a.
const pageTenants = `
{apiVersion: v1, kind: Namespace, metadata: {name: page-a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: page-b}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: page-a, namespace: page-a}
rules: [{apiGroups: [argoproj.io], resources: [applications, applicationsets], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: page-a, namespace: page-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: page-a}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: page-a}]
`

// dashboard runs `kubectl towline dashboard` until the spec ends, and returns the printed address.
func dashboard(ctx context.Context, kubeconfig string, args ...string) *url.URL {
	GinkgoHelper()
	plugin, err := towline.BuildPlugin(ctx, f)
	Expect(err).NotTo(HaveOccurred())
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(running, plugin, append([]string{"dashboard", "--kubeconfig", kubeconfig}, args...)...)
	cmd.Stderr = GinkgoWriter
	out, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		stop()
		_ = cmd.Wait() // the command was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http://") {
			address, err := url.Parse(line)
			Expect(err).NotTo(HaveOccurred())
			return address
		}
	}
	Fail("kubectl towline dashboard printed no address")
	return nil
}

// browse returns the context of a browser. The browser ends with the spec.
func browse(ctx context.Context) context.Context {
	GinkgoHelper()
	path, err := exec.LookPath("chromium")
	Expect(err).NotTo(HaveOccurred(), "apt-get install --no-install-recommends chromium")
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, stop := chromedp.NewExecAllocator(ctx, flags...)
	DeferCleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	DeferCleanup(stop)
	return ctx
}

var _ = Describe("The status page", func() {
	It("turns a cell red when its cluster breaks, and no other", func(ctx SpecContext) {
		apply(ctx, fmt.Sprintf(paged, apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile, apis.FinalizerResources,
			f.Git.URL(fleet.AppsRepo)))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applicationsets.argoproj.io", "paged", "-n", argocdNamespace)
			Expect(err).NotTo(HaveOccurred())
			for _, on := range []string{"cluster1", "cluster2"} {
				Eventually(ctx, read(hub, named("paged-"+on))).Should(BeNil())
			}
		})
		expectHealthy(ctx, "paged-cluster1")
		expectHealthy(ctx, "paged-cluster2")
		address := dashboard(ctx, f.Hub.Kubeconfig())
		browser := browse(ctx)
		cell := func(on string, state string) string {
			return fmt.Sprintf(`#c-%s td.%s a[title^="argocd/paged on %s:"]`, on, state, on)
		}
		Expect(chromedp.Do(browser, chromedp.Navigate(address.String()), chromedp.WaitVisible(chromedp.CSS("#live.on")),
			chromedp.WaitVisible(chromedp.CSS(cell("cluster1", "ok"))), chromedp.WaitVisible(chromedp.CSS(cell("cluster2", "ok"))))).To(Succeed())

		_, err := f.Cluster("cluster1").Kubectl(ctx, "delete", "deployment", "guestbook-ui", "-n", "paged")
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		Eventually(ctx, read(hub, named("paged-cluster1"))).WithPolling(20 * time.Millisecond).Should(HaveField("Status.Sync.Status", "OutOfSync"))
		onHub := time.Since(began)
		Expect(chromedp.Do(browser, chromedp.WaitVisible(chromedp.CSS(cell("cluster1", "blocked"))),
			chromedp.WaitVisible(chromedp.CSS(cell("cluster2", "ok"))))).To(Succeed())
		AddReportEntry(fmt.Sprintf("from the change on the cluster: %.1f s to the hub, %.1f s to the screen", onHub.Seconds(),
			time.Since(began).Seconds()))
	}, NodeTimeout(3*soon))

	It("shows a tenant no objects of a second tenant: the API server refuses the reads", func(ctx SpecContext) {
		apply(ctx, pageTenants)
		for _, team := range []string{"a", "b"} {
			app := fixture.Application("of-team-" + team).Namespace("page-" + team).Cluster("nowhere").Spec(spec("guestbook", "page")).UID("").Obj()
			Expect(hub.Create(ctx, app)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, app)).To(Succeed()) })
		}
		kubeconfig, err := f.Hub.UserKubeconfig("page-a")
		Expect(err).NotTo(HaveOccurred())
		address := dashboard(ctx, kubeconfig, "-n", "page-a")
		cookies, err := cookiejar.New(nil)
		Expect(err).NotTo(HaveOccurred())
		browser := &http.Client{Jar: cookies}
		look := func(ctx context.Context, at string) string {
			GinkgoHelper()
			to, err := address.Parse(at)
			Expect(err).NotTo(HaveOccurred())
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
			Expect(err).NotTo(HaveOccurred())
			resp, err := browser.Do(req)
			Expect(err).NotTo(HaveOccurred())
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			Expect(err).NotTo(HaveOccurred())
			return string(body)
		}
		look(ctx, address.String())
		Eventually(ctx, func(ctx context.Context) string { return look(ctx, "/applications/page-a/of-team-a?namespace=page-a") }).
			Should(ContainSubstring("of-team-a"))
		for _, at := range []string{"/?namespace=page-b", "/", "/applications/page-b/of-team-b?namespace=page-b", "/attention?namespace=page-b"} {
			Eventually(ctx, func(ctx context.Context) string { // the page before the hub's answer shows no data either
				out := look(ctx, at)
				Expect(out).NotTo(ContainSubstring("nowhere"), at)
				return out
			}).Should(Or(ContainSubstring("You may not"), ContainSubstring("403 Forbidden")), at)
		}
		refused := func() bool {
			for line := range audited() {
				if l := string(line); strings.Contains(l, `"username":"page-a"`) && strings.Contains(l, `"namespace":"page-b"`) &&
					strings.Contains(l, `"code":403`) {
					return true
				}
			}
			return false
		}
		Eventually(ctx, refused).Should(BeTrue(), "no request was refused by the API server")
	})
})
