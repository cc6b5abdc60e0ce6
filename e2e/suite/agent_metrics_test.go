package suite

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// scrapers are two accounts on a cluster. Only scraper may read metrics.
const scrapers = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: scraper, namespace: default}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: stranger, namespace: default}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: scraper}, rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects: [{kind: ServiceAccount, name: scraper, namespace: default}]
`

// patchOf returns the first patch in the kustomization of a component.
func patchOf(component string) string {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(towline.Root(), "deploy", "components", component, "kustomization.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var k struct{ Patches []struct{ Patch string } }
	Expect(yaml.Unmarshal(data, &k)).To(Succeed())
	Expect(k.Patches).NotTo(BeEmpty())
	return k.Patches[0].Patch
}

var _ = Describe("The agents' metrics", Serial, func() {
	It("are readable only with a right, with the component agent-secure-metrics", func(ctx SpecContext) {
		const on = "cluster1"
		c := f.Cluster(on)
		installAddOn(ctx)
		_, err := f.Hub.Kubectl(ctx, "patch", "addontemplate", towline.AddOn, "--type=json", "--patch="+patchOf("agent-secure-metrics"))
		Expect(err).NotTo(HaveOccurred())
		By("waiting until the cluster's work agent has given the agent the right to ask")
		Eventually(ctx, func(ctx context.Context) error {
			_, err := c.Kubectl(ctx, "get", "clusterrolebinding", "towline-agent-metrics")
			return err
		}).Should(Succeed())
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return c.Kubectl(ctx, "get", "deployment", towline.AddOn, "--namespace", towline.AddOnNamespace,
				"--output", "jsonpath={.spec.template.spec.containers[0].args}")
		}).ShouldNot(ContainSubstring("metrics-secure"))
		agent, err := towline.RunAgent(ctx, f, binary, on, "agent-guarded")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(agent.Stop)
		applyTo(ctx, &c.ControlPlane, scrapers)
		DeferCleanup(func(ctx SpecContext) {
			_, err := c.Kubectl(ctx, "delete", "clusterrole/scraper", "clusterrolebinding/scraper")
			Expect(err).NotTo(HaveOccurred())
			_, err = c.Kubectl(ctx, "delete", "--namespace=default", "serviceaccount/scraper", "serviceaccount/stranger")
			Expect(err).NotTo(HaveOccurred())
		})

		scrape := func(token string) func(context.Context) (int, error) {
			client := &http.Client{Transport: &http.Transport{
				DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the agent's certificate is self-signed
			}}
			return func(ctx context.Context) (int, error) {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(agent.Metrics, "http:", "https:", 1)+"/metrics", nil)
				if err != nil {
					return 0, err
				}
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				answer, err := client.Do(request)
				if err != nil {
					return 0, err
				}
				defer answer.Body.Close()
				return answer.StatusCode, nil
			}
		}
		Eventually(ctx, scrape(accountToken(ctx, c, "scraper"))).Should(Equal(http.StatusOK))
		Eventually(ctx, scrape(accountToken(ctx, c, "stranger"))).Should(Equal(http.StatusForbidden))
		Eventually(ctx, scrape("")).Should(Equal(http.StatusUnauthorized))
	})
})

// accountToken returns a token of an account in a cluster's namespace default.
func accountToken(ctx context.Context, c *fleet.Cluster, account string) string {
	GinkgoHelper()
	token, err := c.Kubectl(ctx, "create", "token", account, "--namespace=default")
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(token)
}
