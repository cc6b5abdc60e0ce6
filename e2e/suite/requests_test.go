package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// manual returns the spec of an Application without automated sync.
func manual(path, namespace string) string {
	return strings.Replace(spec(path, namespace), `"automated":{"prune":true,"selfHeal":true},`, "", 1)
}

// whole returns an Application with all its fields. The type argocd.Application has only some of the fields.
func whole(ctx context.Context, c client.Client, name string) *unstructured.Unstructured {
	GinkgoHelper()
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
	Expect(c.Get(ctx, client.ObjectKey{Namespace: argocdNamespace, Name: name}, app)).To(Succeed())
	return app
}

// syncs returns the number of a cluster's syncs of an Application: Argo CD keeps a history entry for each sync.
func syncs(ctx context.Context, on, name string) int {
	GinkgoHelper()
	history, _, err := unstructured.NestedSlice(whole(ctx, cluster[on], name).Object, "status", "history")
	Expect(err).NotTo(HaveOccurred())
	return len(history)
}

func patchHub(ctx context.Context, name, patch string) {
	GinkgoHelper()
	Expect(hub.Patch(ctx, named(name), client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

var _ = Describe("A request on the hub", usesRights, func() {
	noAutomation := func(b *fixture.ApplicationBuilder) { b.Spec(manual("guestbook", "requested")) }

	It("to sync runs on the cluster once, however often Towline is killed", long, func(ctx SpecContext) {
		app := standalone(ctx, "requested", "cluster1", noAutomation)
		Eventually(ctx, read(hub, app)).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))
		for want := 1; want <= 3; want++ {
			patchHub(ctx, app.Name, `{"operation":{"sync":{"syncOptions":["CreateNamespace=true"]},"initiatedBy":{"username":"tester"}}}`)
			Expect(tow.Kill()).To(Succeed())
			Expect(tow.Restart(ctx)).To(Succeed())
			Eventually(ctx, func(g Gomega, ctx context.Context) {
				now, err := read(hub, app)(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(now.Operation).To(BeNil(), "the hub's operation has not been cleared")
				g.Expect(now.Status.OperationState).NotTo(BeNil())
				g.Expect(now.Status.OperationState.Phase).To(Equal("Succeeded"))
				g.Expect(now.Status.OperationState.Operation.InitiatedBy).To(HaveField("Username", "tester"))
				g.Expect(syncs(ctx, "cluster1", app.Name)).To(Equal(want))
			}).Should(Succeed())
			// The operation leaves the work after its end, and the removal must not start the operation again.
			Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Spec.Workload.Manifests",
				HaveExactElements(HaveField("Raw", Not(ContainSubstring(`"operation"`))))))
			Consistently(ctx, func(ctx context.Context) int { return syncs(ctx, "cluster1", app.Name) }).
				WithTimeout(2 * time.Second).Should(Equal(want))
		}
		deployment(ctx, "cluster1", app.Name)
		expectHealthy(ctx, app.Name)
	})

	It("for a dry run brings argocd app sync back", func(ctx SpecContext) {
		app := standalone(ctx, "tried", "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(manual("guestbook", "tried")) })
		Eventually(ctx, read(hub, app)).Should(HaveField("Status.Sync", HaveField("Status", "OutOfSync")))
		argo, began := login(ctx), time.Now()
		out := argo(ctx, "app", "sync", app.Name, "--dry-run", "--timeout", "100")
		AddReportEntry(fmt.Sprintf("argocd app sync --dry-run, after %.1f s", time.Since(began).Seconds()), out)
		Expect(out).To(And(MatchRegexp(`Phase:\s+Succeeded`), Not(ContainSubstring("exit status"))))
		Expect(syncs(ctx, "cluster1", app.Name)).To(BeZero())
	})

	It("to refresh is answered: the hub's annotation is removed after the cluster's next comparison", func(ctx SpecContext) {
		app := standalone(ctx, "refreshed", "cluster2")
		expectHealthy(ctx, app.Name)
		for _, kind := range []string{"normal", "hard", ""} {
			asked := time.Now().UTC().Format(time.RFC3339)
			patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, apis.AnnotationRefresh, kind))
			Eventually(ctx, read(hub, app)).Should(HaveField("Annotations", Not(HaveKey(apis.AnnotationRefresh))))
			now, err := read(hub, app)(ctx)
			Expect(err).NotTo(HaveOccurred())
			there, err := read(cluster["cluster2"], named(app.Name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(now.Status.ReconciledAt >= asked).To(BeTrue(), "compared at %s, and asked at %s", now.Status.ReconciledAt, asked)
			// The cluster may have compared again since. The hub shows a later comparison only if a request waits for
			// it.
			Expect(now.Status.ReconciledAt <= there.Status.ReconciledAt).To(BeTrue(), "compared at %s, there at %s",
				now.Status.ReconciledAt, there.Status.ReconciledAt)
		}
	})
})
