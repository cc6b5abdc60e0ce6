package suite

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/fixture"
)

// readers may read only Applications and ApplicationSets.
const readers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: why-readers, namespace: argocd}
rules: [{apiGroups: [argoproj.io], resources: [applications, applicationsets], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: why-readers, namespace: argocd}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: why-readers}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: why-reader}]
`

var _ = Describe("kubectl towline why", Ordered, func() {
	var plugin, reader, stranger string

	// asks waits until the plugin ends with the given code and its output matches.
	asks := func(ctx context.Context, kubeconfig string, code int, says OmegaMatcher, args ...string) {
		GinkgoHelper()
		expectRuns(ctx, plugin, kubeconfig, append([]string{"why", "--namespace", argocdNamespace}, args...), code, says)
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		plugin, err = towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, readers)
		reader, err = f.Hub.UserKubeconfig("why-reader")
		Expect(err).NotTo(HaveOccurred())
		stranger, err = f.Hub.UserKubeconfig("why-stranger")
		Expect(err).NotTo(HaveOccurred())
		create(ctx, "asked", "cluster1")
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applications.argoproj.io", "asked", "asked-nowhere", "--namespace", argocdNamespace, "--ignore-not-found")
			Expect(err).NotTo(HaveOccurred())
		})
		app := fixture.Application("asked-nowhere").Cluster("nowhere").Spec(spec("guestbook", "asked-nowhere")).Obj()
		app.UID = ""
		Expect(hub.Create(ctx, app)).To(Succeed())
		expectAtRest(ctx, "asked") // before, the work is still on its way
		Eventually(ctx, read(hub, named("asked-nowhere"))).Should(HaveField("Status.Conditions", Not(BeEmpty())))
	})

	It("shows the path of a delivered Application", func(ctx SpecContext) {
		asks(ctx, f.Hub.Kubeconfig(), 0, And(
			ContainSubstring("Application argocd/asked on cluster1"), ContainSubstring("The Application is on the cluster, and healthy.")), "asked")
	})

	It("stops at the broken link, and says who can fix the link, and how", func(ctx SpecContext) {
		asks(ctx, f.Hub.Kubeconfig(), 2, And(
			ContainSubstring("ClusterNotFound"), ContainSubstring("kubectl get managedclusters"), ContainSubstring("stopped at: target")), "asked-nowhere")
	})

	It("tells a user with few rights the Application's conditions, and the unreadable objects", func(ctx SpecContext) {
		asks(ctx, reader, 2, And(
			ContainSubstring("ManagedCluster \"nowhere\" does not exist"), ContainSubstring("not allowed: get managedclusters")), "asked-nowhere")
		asks(ctx, reader, 4, ContainSubstring("not allowed: "), "asked")
	})

	It("fails without an Application, or without the right to read the Application", func(ctx SpecContext) {
		asks(ctx, stranger, 4, ContainSubstring("forbidden"), "asked")
		asks(ctx, f.Hub.Kubeconfig(), 1, ContainSubstring("Application argocd/not-there does not exist"), "not-there")
	})

	It("tells why an ApplicationSet has nothing on a cluster", func(ctx SpecContext) {
		asks(ctx, f.Hub.Kubeconfig(), 2, ContainSubstring("ApplicationSet argocd/not-there does not exist"), "not-there", "--cluster", "cluster1")
	})
})
