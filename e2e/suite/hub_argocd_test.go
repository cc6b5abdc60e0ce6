package suite

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

var _ = Describe("The hub's Argo CD", Serial, func() {
	It("links a pulled Application to the Argo CD of its cluster", func(ctx SpecContext) {
		patch := func(ctx context.Context, flag, value string) {
			GinkgoHelper()
			_, err := f.Hub.Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", argocdNamespace, "--type", "merge", flag, value)
			Expect(err).NotTo(HaveOccurred())
		}
		patch(ctx, "--patch-file", filepath.Join(towline.Root(), "example/deep-links.yaml"))
		DeferCleanup(patch, "--patch", `{"data":{"application.links":null}}`)
		plain := standalone(ctx, "linked", "cluster1")
		moved := standalone(ctx, "linked-elsewhere", "cluster2", func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationAppNamespace, "apps") })
		own := standalone(ctx, "not-linked", "cluster1", func(b *fixture.ApplicationBuilder) { b.Label(apis.LabelPull, "false").Finalizers() })
		key := token(ctx)
		links := func(name string) func(context.Context) string {
			return func(ctx context.Context) string {
				return string(request(ctx, http.MethodGet, "/api/v1/applications/"+name+"/links", key, ""))
			}
		}
		Eventually(ctx, links(plain.Name)).Should(ContainSubstring(`"url":"https://argocd.cluster1.example.com/applications/argocd/linked"`))
		Eventually(ctx, links(moved.Name)).Should(ContainSubstring(`"url":"https://argocd.cluster2.example.com/applications/apps/linked-elsewhere"`))
		Eventually(ctx, links(own.Name)).Should(MatchJSON(`{}`))
		AddReportEntry("/api/v1/applications/linked/links", links(plain.Name)(ctx))
	})

	It("shows pulled Applications in argocd_app_info", func(ctx SpecContext) {
		teller, err := towline.Run(ctx, f, binary, "towline-info",
			"--controllers=resourcetree", "--leader-elect=false", "--argocd-app-info", "--metrics-secure=false")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(teller.Stop)
		app := standalone(ctx, "informed", "cluster1")
		expectHealthy(ctx, app.Name)
		series := fmt.Sprintf(`argocd_app_info{autosync_enabled="true",dest_namespace="informed",dest_server="https://kubernetes.default.svc",`+
			`health_status="Healthy",name="informed",namespace="argocd",operation="",project="default",repo=%q,sync_status="Synced"} 1`,
			strings.TrimSuffix(f.Git.URL(fleet.AppsRepo), ".git"))
		Eventually(ctx, func(ctx context.Context) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, teller.Metrics+"/metrics", nil)
			if err != nil {
				return "", err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			data, err := io.ReadAll(resp.Body)
			return string(data), err
		}).Should(ContainSubstring(series))
	})
})
