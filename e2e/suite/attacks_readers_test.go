package suite

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

const (
	// hostileText sets a terminal's title, clears its screen, runs a command after a paste into a shell, and runs a
	// script in a browser.
	hostileText = "x;touch /tmp/owned #\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\r\n<img src=x onerror=alert(1)>"

	// shownAtMost limits the shown text of an Application in bytes. The tenant has written a multiple.
	shownAtMost = 128 << 10
)

// hostileApp returns an Application with hostile text in all shown fields. Its status is the tenant's too, because
// Application has no status subresource. Towline and Argo CD leave the status alone.
func hostileApp() *argocd.Application {
	long := hostileText + strings.Repeat("A", 200<<10)
	app := tenantApp("hostile", func(b *fixture.ApplicationBuilder) {
		b.Cluster(hostileText).Annotation(apis.AnnotationAppNamespace, hostileText).NoAnnotation(apis.AnnotationSkipReconcile)
	})
	app.Status = argocd.Status{
		Health: argocd.Health{Status: long, Message: long}, Sync: &argocd.Sync{Status: "OutOfSync", Revision: long},
		Conditions: []argocd.Condition{
			{Type: "SyncError", Message: long}, {Type: hostileText, Message: hostileText},
			{Type: apis.ConditionPausedWarning, Message: apis.AnnotationPaused + " on Namespace x;touch</tmp/owned: paused"},
		},
		Resources: []argocd.ResourceStatus{{Version: "v1", Kind: "Service", Name: hostileText, Status: "OutOfSync"}},
	}
	return app
}

// hostileTexts are specs on how kubectl towline and the status page show a tenant's hostile texts.
func hostileTexts(tenant *client.Client) {
	var app *argocd.Application

	BeforeAll(func(ctx SpecContext) {
		app = hostileApp()
		Expect((*tenant).Create(ctx, app)).To(Succeed()) // the Application names no existing cluster, and gets no work
		DeferCleanup(func(ctx SpecContext) {
			Expect(hub.Delete(ctx, app)).To(Succeed())
			Eventually(ctx, read(hub, app)).Should(BeNil())
		})
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: tenantNamespace, Name: "hostile"},
			InvolvedObject: corev1.ObjectReference{APIVersion: argocd.GroupVersion.String(), Kind: argocd.Kind, Namespace: tenantNamespace, Name: app.Name},
			Reason:         hostileText, Message: hostileText, Type: corev1.EventTypeWarning, EventTime: metav1.NowMicro(),
			ReportingController: "towline", ReportingInstance: "towline", Action: "Hostile",
		}
		Expect((*tenant).Create(ctx, event)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, event)).To(Succeed()) })
	})
	BeforeEach(func(ctx SpecContext) {
		now, err := read(hub, app)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(now.Status.Health.Status).To(Equal(app.Status.Health.Status), "it is not there to be read")
	})

	It("with kubectl towline: nothing steers the terminal, and a table stays a table", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		advice := 0
		for command, shows := range map[string]bool{
			"get apps -A": true, "get apps -A -o wide": true, "why hostile": true, "tree app/hostile": true, "events hostile": true,
			"matrix -A": false, "clusters": false, "stats -A": false,
		} {
			args := strings.Fields(command)
			if !strings.Contains(command, "-A") && command != "clusters" {
				args = append(args, "--namespace", tenantNamespace)
			}
			out, _ := runs(ctx, plugin, f.Hub.Kubeconfig(), args...)
			Expect(strings.Contains(out, "touch")).To(Or(BeTrue(), Equal(shows)), "%s does not show it", command)
			Expect(strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })).To(Equal(-1), "%s: %q", command, out)
			for line := range strings.Lines(out) {
				Expect(len(line)).To(BeNumerically("<", shownAtMost), command)
			}
			for _, do := range strings.Split(out, "    do      ")[1:] {
				advice++
				do, _, _ = strings.Cut(do, "\n")
				Expect(do).NotTo(MatchRegexp(`[^']x;touch`), "%s: a shell would run it", command)
			}
		}
		Expect(advice).NotTo(BeZero(), "nothing was said that somebody could paste")
	})

	It("with the status page: nothing is more than text, and nobody reads without a token", func(ctx SpecContext) {
		program := filepath.Join(f.Dir(), "towline-ui")
		Expect(towline.Compile(ctx, "towline-ui", program)).To(Succeed())
		ports, err := f.FreePorts(1)
		Expect(err).NotTo(HaveOccurred())
		ca := filepath.Join(GinkgoT().TempDir(), "ca.crt")
		Expect(os.WriteFile(ca, f.Hub.RESTConfig().CAData, 0o600)).To(Succeed())
		address := fmt.Sprintf("127.0.0.1:%d", ports[0])
		page, err := f.Run(ctx, fleet.Command{
			Name: "towline-ui", Path: program, Ready: fleet.HTTPReady("http://" + address + "/healthz"),
			Args: []string{"--bind-address=" + address, "--api-server=" + f.Hub.Server(), "--api-server-ca=" + ca, "--argocd-namespace=" + argocdNamespace},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(page.Stop)
		token := tokenOf(ctx, "page-reader")
		bind(ctx, "page-reader", "cluster-admin")

		in := "?namespace=" + tenantNamespace
		for at, shows := range map[string]string{
			"/" + in: "1 stopped", "/applications/" + tenantNamespace + "/hostile" + in: "touch", "/attention" + in: "touch", "/clusters" + in: "cluster2",
		} {
			code, body := fetch(ctx, "http://"+address+at, "")
			Expect(code).To(Equal(http.StatusUnauthorized), at)
			Expect(body).NotTo(ContainSubstring("touch"), at)
			_, body = fetch(ctx, "http://"+address+at, "forged")
			Expect(body).NotTo(ContainSubstring("touch"), at)
			Eventually(ctx, func(ctx context.Context) string { // the page first reads the hub at the first request
				_, body = fetch(ctx, "http://"+address+at, token)
				return body
			}).Should(ContainSubstring(shows), at)
			for _, bad := range []string{"<img src=x", "\x1b", "\u202e", "\u009b"} {
				Expect(body).NotTo(ContainSubstring(bad), at)
			}
			Expect(len(body)).To(BeNumerically("<", shownAtMost), at)
		}
	})
}
