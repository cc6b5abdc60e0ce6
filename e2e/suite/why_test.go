package suite

import (
	"context"
	"errors"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/fixture"
)

// readers may read Applications and ApplicationSets, and nothing else.
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

	// asks runs the plugin, and gives what it prints with its exit code.
	asks := func(ctx context.Context, kubeconfig string, args ...string) (string, int) {
		GinkgoHelper()
		cmd := exec.CommandContext(ctx, plugin, append([]string{"why", "--kubeconfig", kubeconfig, "--namespace", argocdNamespace}, args...)...)
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		}
		Expect(err).NotTo(HaveOccurred())
		return string(out), 0
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
		expectHealthy(ctx, "asked")
		Eventually(ctx, read(hub, named("asked-nowhere"))).Should(HaveField("Status.Conditions", Not(BeEmpty())))
	})

	It("shows the way of an Application that is on its cluster", func(ctx SpecContext) {
		out, code := asks(ctx, f.Hub.Kubeconfig(), "asked")
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("Application argocd/asked on cluster1"), ContainSubstring("It is on its cluster, and healthy.")))
		AddReportEntry("kubectl towline why", out)
	})

	It("stops where it is broken, and says who can change that, and how", func(ctx SpecContext) {
		out, code := asks(ctx, f.Hub.Kubeconfig(), "asked-nowhere")
		Expect(code).To(Equal(2), out)
		Expect(out).To(And(ContainSubstring("ClusterNotFound"), ContainSubstring("kubectl get managedclusters"), ContainSubstring("stopped at: target")))
		AddReportEntry("kubectl towline why", out)
	})

	It("tells who may read little what the Application says, and what may not be read", func(ctx SpecContext) {
		out, code := asks(ctx, reader, "asked-nowhere")
		Expect(code).To(Equal(2), out)
		Expect(out).To(And(ContainSubstring("there is no ManagedCluster \"nowhere\""), ContainSubstring("not allowed: get managedclusters")))
		out, code = asks(ctx, reader, "asked")
		Expect(code).To(Equal(4), out)
		Expect(out).To(ContainSubstring("not allowed: "))
		AddReportEntry("kubectl towline why", out)
	})

	It("fails where not even the Application may be read, or is there", func(ctx SpecContext) {
		out, code := asks(ctx, stranger, "asked")
		Expect(code).To(Equal(4), out)
		Expect(out).To(ContainSubstring("forbidden"))
		out, code = asks(ctx, f.Hub.Kubeconfig(), "not-there")
		Expect(code).To(Equal(1), out)
		Expect(out).To(ContainSubstring("there is no Application argocd/not-there"))
	})

	It("tells why an ApplicationSet has nothing on a cluster", func(ctx SpecContext) {
		out, code := asks(ctx, f.Hub.Kubeconfig(), "not-there", "--cluster", "cluster1")
		Expect(code).To(Equal(2), out)
		Expect(out).To(ContainSubstring("there is no ApplicationSet argocd/not-there"))
	})
})
