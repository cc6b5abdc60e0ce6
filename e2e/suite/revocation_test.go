package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
)

// ownProject returns an AppProject that permits all of a repository. executor is the value of its executor annotation.
func ownProject(name, repo, executor string) string {
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: argocd, annotations: {%s: %q}}
spec:
  sourceRepos: [%q]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`, name, apis.AnnotationExecutor, executor, repo)
}

// projectOnBoth makes an AppProject on the hub and on a cluster, until the spec ends.
func projectOnBoth(ctx context.Context, on, name, executor string) {
	GinkgoHelper()
	manifest := ownProject(name, f.Git.URL(fleet.AppsRepo), executor)
	apply(ctx, manifest)
	applyTo(ctx, &f.Cluster(on).ControlPlane, manifest)
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		for _, plane := range []*fleet.ControlPlane{&f.Hub.ControlPlane, &f.Cluster(on).ControlPlane} {
			_, err := plane.Kubectl(ctx, "delete", "appproject", name, "--namespace", argocdNamespace, "--wait=false")
			Expect(err).NotTo(HaveOccurred())
		}
	})
}

func ofProject(project, namespace string) func(*fixture.ApplicationBuilder) {
	return func(b *fixture.ApplicationBuilder) { b.Spec(specOf(project, "guestbook", namespace)) }
}

var _ = Describe("An Application that loses its right", func() {
	It("stays unchanged, and is removed on a hub with --on-revocation=delete", long, func(ctx SpecContext) {
		const name = "revoked"
		projectOnBoth(ctx, "cluster1", name, "")
		app := standalone(ctx, name, "cluster1", ofProject(name, name))
		expectHealthy(ctx, name)
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())

		apply(ctx, ownProject(name, "https://git.example.com/other.git", ""))
		expectForbidden(ctx, app, "does not permit the repository")
		Expect(read(hub, workOf(app))(ctx)).To(HaveField("UID", w.UID))
		deployment(ctx, "cluster1", name)

		tow.Stop()
		strict, err := towline.Run(ctx, f, binary, "towline-deleting", "--on-revocation=delete")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			strict.Stop()
			Expect(tow.Restart(ctx)).To(Succeed())
		})
		expectForbidden(ctx, app, "is asked to remove the Application at")
		Expect(read(hub, w)(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		Eventually(ctx, read(hub, w)).WithTimeout(delivery.DefaultRevocationGrace + soon).Should(BeNil())
		Expect(read(cluster["cluster1"], guestbookOf(name))(ctx)).To(BeNil())
		expectForbidden(ctx, app, "does not permit the repository")

		apply(ctx, ownProject(name, f.Git.URL(fleet.AppsRepo), ""))
		Eventually(ctx, read(hub, workOf(app))).ShouldNot(BeNil())
		deployment(ctx, "cluster1", name)
	})
})

var _ = Describe("A work's executor", func() {
	It("decides by its rights what the work agent applies", func(ctx SpecContext) {
		const name = "executed"
		account := `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: applier, namespace: argocd}}
`
		rights := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: applier, namespace: argocd}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "towline:work-agent:applications"}
subjects: [{kind: ServiceAccount, name: applier, namespace: argocd}]
`
		plane := &f.Cluster("cluster2").ControlPlane
		applyTo(ctx, plane, account)
		projectOnBoth(ctx, "cluster2", name, "argocd/applier")
		standalone(ctx, name, "cluster2", ofProject(name, name))
		expectCondition(ctx, name, apis.ConditionWorkApplyError, "not allowed to apply the resource argoproj.io applications, argocd "+name)
		message, err := conditionMessage(ctx, name, apis.ConditionWorkApplyError)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("without rights", message)

		applyTo(ctx, plane, rights)
		// The agent would retry within a minute. Any change of the Application makes the agent retry at once.
		patchHub(ctx, name, `{"metadata":{"annotations":{"again":"now"}}}`)
		expectHealthy(ctx, name)
		expectNoCondition(ctx, name, apis.ConditionWorkApplyError)

		// The objects named by the Application need the rights of the same account.
		beside := secretOn(argocdNamespace, name)
		beside.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
		Expect(hub.Create(ctx, beside)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(hub.Delete(ctx, beside))).To(Succeed()) })
		patchHub(ctx, name, annotationPatch(apis.AnnotationWith, "secret/"+name))
		expectCondition(ctx, name, apis.ConditionDependencyError, ".objects.towline")
		Expect(read(cluster["cluster2"], secretOn(name, name))(ctx)).To(BeNil())
		applyTo(ctx, plane, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: applier, namespace: executed}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, create, update, patch, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: applier, namespace: executed}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: applier}
subjects: [{kind: ServiceAccount, name: applier, namespace: argocd}]
`)
		change(ctx, hub, beside, `{"stringData":{"again":"now"}}`)
		Eventually(ctx, read(cluster["cluster2"], secretOn(name, name))).ShouldNot(BeNil())
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return conditionMessage(ctx, name, apis.ConditionDependencyError)
		}).ShouldNot(ContainSubstring(".objects.towline"))
	})
})
