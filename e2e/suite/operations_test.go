package suite

import (
	"context"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
)

// clientFromKubeconfig returns a client with the identity of a kubeconfig.
func clientFromKubeconfig(file string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// fetch returns the status and the body of a GET, with a bearer token unless the token is empty.
func fetch(ctx context.Context, url, token string) (int, string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The process makes a new self-signed certificate at each start. Keep-alive is off because a kept connection would
	// use a server's limited connections: Prometheus has 512, and lets further clients wait.
	response, err := insecure(&http.Transport{DisableKeepAlives: true}).Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(body)
}

var _ = Describe("towline controller", usesRights, func() {
	It("answers its probes", func(ctx SpecContext) {
		for _, path := range []string{"/healthz", "/readyz"} {
			status, _ := fetch(ctx, tow.Probes+path, "")
			Expect(status).To(Equal(http.StatusOK), path)
		}
	})

	It("shows its metrics only to users with the right to read metrics", func(ctx SpecContext) {
		status, _ := fetch(ctx, tow.Metrics+"/metrics", "")
		Expect(status).To(Equal(http.StatusUnauthorized))

		status, _ = fetch(ctx, tow.Metrics+"/metrics", tokenOf(ctx, "nobody"))
		Expect(status).To(Equal(http.StatusForbidden))

		token := tokenOf(ctx, "prometheus")
		bind(ctx, "prometheus", metricsRole)
		Eventually(ctx, func(ctx context.Context) string {
			_, body := fetch(ctx, tow.Metrics+"/metrics", token)
			return body
		}).Should(And(ContainSubstring("towline_application_status_writes_total"), ContainSubstring("workqueue_depth")))
	})

	It("keeps a second replica waiting, which takes over after the first is killed", func(ctx SpecContext) {
		second, err := towline.Run(ctx, f, binary, "towline-second")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(second.Stop)
		status, _ := fetch(ctx, second.Probes+"/readyz", "")
		Expect(status).To(Equal(http.StatusOK), "a replica that waits is ready to lead")

		Expect(tow.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(tow.Restart(ctx)).To(Succeed()) })
		app := standalone(ctx, "handed-over", "cluster1")
		expectHealthy(ctx, app.Name)
	})
})

// metricsRole is the ClusterRole for readers of Towline's metrics.
const metricsRole = "towline-metrics-reader"

// bind gives a ServiceAccount of Argo CD's namespace a ClusterRole until the container or spec ends.
func bind(ctx context.Context, account, role string) {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: argocdNamespace, Name: account}},
	}
	Expect(hub.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, binding)).To(Succeed()) }) //nolint:contextcheck // a clean-up has a context of its own
}

// tokenOf makes a ServiceAccount in Argo CD's namespace, and returns a token of the account.
func tokenOf(ctx context.Context, name string) string {
	GinkgoHelper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: name}}
	Expect(client.IgnoreAlreadyExists(hub.Create(ctx, sa))).To(Succeed())
	out, err := f.Hub.Kubectl(ctx, "create", "token", "--namespace", argocdNamespace, name)
	Expect(err).NotTo(HaveOccurred())
	return out
}
