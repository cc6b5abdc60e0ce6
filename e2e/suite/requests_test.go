package suite

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// manual is an Application's spec without automated sync.
func manual(path, namespace string) string {
	return strings.Replace(spec(path, namespace), `"automated":{"prune":true,"selfHeal":true},`, "", 1)
}

// whole is an Application with all its fields, which the view of it does not have.
func whole(ctx context.Context, c client.Client, name string) *unstructured.Unstructured {
	GinkgoHelper()
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
	Expect(c.Get(ctx, client.ObjectKey{Namespace: argocdNamespace, Name: name}, app)).To(Succeed())
	return app
}

// syncs is how often a cluster has synced an Application: Argo CD keeps an entry for each.
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

var _ = Describe("A request on the hub", func() {
	noAutomation := func(b *fixture.ApplicationBuilder) { b.Spec(manual("guestbook", "requested")) }

	It("to sync runs on the cluster once, however often Towline is killed", func(ctx SpecContext) {
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
			// The request leaves the work when it is over, and that must not start it again.
			Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Spec.Workload.Manifests",
				HaveExactElements(HaveField("Raw", Not(ContainSubstring(`"operation"`))))))
			Consistently(ctx, func(ctx context.Context) int { return syncs(ctx, "cluster1", app.Name) }).
				WithTimeout(2 * time.Second).Should(Equal(want))
		}
		deployment(ctx, "cluster1", app.Name)
		expectHealthy(ctx, app.Name)
	})

	It("to refresh is answered: the hub's annotation goes when the cluster has compared again", func(ctx SpecContext) {
		app := standalone(ctx, "refreshed", "cluster2")
		before := expectHealthy(ctx, app.Name).Status.ReconciledAt
		for _, kind := range []string{"normal", "hard"} {
			patchHub(ctx, app.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, apis.AnnotationRefresh, kind))
			Eventually(ctx, read(hub, app)).Should(And(
				HaveField("Annotations", Not(HaveKey(apis.AnnotationRefresh))),
				HaveField("Status.ReconciledAt", Not(Equal(before)))))
			now, err := read(hub, app)(ctx)
			Expect(err).NotTo(HaveOccurred())
			before = now.Status.ReconciledAt
		}
	})
})

var _ = Describe("A RollingSync", Ordered, func() {
	const set = "rollout"
	apps := []string{"rollout-cluster1", "rollout-cluster2"}

	BeforeAll(func(ctx SpecContext) {
		Expect(f.Git.Create(ctx, set, testdataFS("configmap.yaml"))).To(Succeed())
		apply(ctx, rollout(set))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "--namespace", argocdNamespace, "applicationset", set, "--wait=false")
			Expect(err).NotTo(HaveOccurred())
			for _, name := range apps {
				Eventually(ctx, read(hub, named(name))).Should(BeNil())
			}
		})
	})

	// inOrder expects both clusters to run that revision, the second after the first was done.
	inOrder := func(ctx context.Context, revision string) {
		GinkgoHelper()
		var done [2]*argocd.Application
		for i, name := range apps {
			Eventually(ctx, read(hub, named(name))).Should(And(
				HaveField("Status.OperationState", HaveField("SyncResult", HaveField("Revision", revision))),
				HaveField("Status.OperationState.Phase", "Succeeded"),
				HaveField("Status.Health.Status", "Healthy")))
			var err error
			done[i], err = read(hub, named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry(fmt.Sprintf("%s: %s to %s", name,
				done[i].Status.OperationState.StartedAt, done[i].Status.OperationState.FinishedAt))
		}
		Expect(done[1].Status.OperationState.StartedAt >= done[0].Status.OperationState.FinishedAt).To(BeTrue(),
			"the second cluster began before the first was done")
	}

	It("takes the clusters step by step", func(ctx SpecContext) {
		head, err := f.Git.Head(ctx, set)
		Expect(err).NotTo(HaveOccurred())
		inOrder(ctx, head)
	})

	It("takes a commit through in the same order", func(ctx SpecContext) {
		manifest, err := f.Git.Read(ctx, set, "configmap.yaml")
		Expect(err).NotTo(HaveOccurred())
		sha, err := f.Git.Commit(ctx, set, map[string]string{
			"configmap.yaml": strings.Replace(manifest, "version: one", "version: two", 1),
		}, "Roll out")
		Expect(err).NotTo(HaveOccurred())
		for i, name := range apps {
			hardRefresh(ctx, fmt.Sprintf("cluster%d", i+1), name)
			// The ApplicationSet controller takes a cluster that is not known to be behind for one that is done, and
			// goes on to the next step.
			Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync.Revision", sha))
		}
		inOrder(ctx, sha)
	})
})

// rollout is an ApplicationSet that syncs cluster1 before cluster2.
func rollout(set string) string {
	GinkgoHelper()
	step := func(env string) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": "env", "operator": "In", "values": []any{env}}}}
	}
	object := map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": metav1.ObjectMeta{Name: set, Namespace: argocdNamespace},
		"spec": map[string]any{
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{
				map[string]any{"name": "cluster1", "env": "canary"}, map[string]any{"name": "cluster2", "env": "prod"},
			}}}},
			"strategy": map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": []any{step("canary"), step("prod")}}},
			"template": map[string]any{
				"metadata": map[string]any{
					"name":        "rollout-{{name}}",
					"labels":      map[string]any{apis.LabelPull: "true", "env": "{{env}}"},
					"annotations": map[string]any{apis.AnnotationCluster: "{{name}}", apis.AnnotationSkipReconcile: "true"},
				},
				"spec": map[string]any{
					"project":     "default",
					"source":      map[string]any{"repoURL": f.Git.URL(set), "path": ".", "targetRevision": "main"},
					"destination": map[string]any{"server": apis.InClusterServer, "namespace": set},
					"syncPolicy":  map[string]any{"syncOptions": []any{"CreateNamespace=true"}},
				},
			},
		},
	}
	manifest, err := yaml.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(manifest)
}
