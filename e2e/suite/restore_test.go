package suite

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

var _ = Describe("A hub that is restored from a backup", Serial, inEtcd, func() {
	It("takes over the Applications on its clusters, and removes no Application that the backup lacks", nightly, func(ctx SpecContext) {
		known := standalone(ctx, "known", "cluster1")
		expectHealthy(ctx, known.Name)
		backup := GinkgoT().TempDir()
		tow.Stop()
		outage(ctx, func(etcd string) { Expect(os.CopyFS(backup, os.DirFS(etcd))).To(Succeed()) })
		Expect(tow.Restart(ctx)).To(Succeed())

		unknown := standalone(ctx, "unknown", "cluster2")
		expectHealthy(ctx, unknown.Name)
		patchHub(ctx, known.Name, annotationPatch("note", "newer"))
		Eventually(ctx, read(cluster["cluster1"], named(known.Name))).Should(HaveField("Annotations", HaveKey("note")))
		before := map[string]any{known.Name: uids(ctx, "cluster1", known.Name), unknown.Name: uids(ctx, "cluster2", unknown.Name)}
		AddReportEntry("before", before)

		tow.Stop()
		// All clients of the hub are restarted, as Kubernetes requires after a restore: a watch from a lost version
		// gets no events.
		outage(ctx, func(etcd string) {
			Expect(os.RemoveAll(etcd)).To(Succeed())
			Expect(os.CopyFS(etcd, os.DirFS(backup))).To(Succeed())
			Expect(os.Chmod(etcd, 0o700)).To(Succeed())
		})
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, read(hub, unknown)).Should(BeNil())
		Eventually(ctx, read(cluster["cluster1"], named(known.Name))).Should(HaveField("Annotations", Not(HaveKey("note"))))
		expectHealthy(ctx, known.Name)
		Expect(uids(ctx, "cluster1", known.Name)).To(Equal(before[known.Name]))
		Expect(uids(ctx, "cluster2", unknown.Name)).To(Equal(before[unknown.Name]))

		// A new Application of the same name takes over the objects on the cluster.
		again := fixture.Application(unknown.Name).Cluster("cluster2").Spec(spec("guestbook", unknown.Name)).
			Finalizers(apis.FinalizerResources).Obj()
		again.UID = ""
		Expect(hub.Create(ctx, again)).To(Succeed())
		expectHealthy(ctx, unknown.Name)
		Expect(uids(ctx, "cluster2", unknown.Name)).To(Equal(before[unknown.Name]))
		AddReportEntry("after", map[string]any{known.Name: uids(ctx, "cluster1", known.Name), unknown.Name: uids(ctx, "cluster2", unknown.Name)})
	}, NodeTimeout(5*soon))
})

// lose stops Towline and removes an Application from the hub, as a restore would. It also sets the annotation that
// Towline writes when Towline finds many losses at a time.
func lose(ctx context.Context, app *argocd.Application) {
	GinkgoHelper()
	tow.Stop()
	w, err := read(hub, workOf(app))(ctx)
	Expect(err).NotTo(HaveOccurred())
	marked := w.DeepCopy()
	marked.Annotations[apis.AnnotationOrphanedAt] = "2026-01-02T03:04:05Z"
	Expect(hub.Patch(ctx, marked, client.MergeFrom(w))).To(Succeed())
	patchHub(ctx, app.Name, `{"metadata":{"finalizers":null}}`)
	Expect(hub.Delete(ctx, app)).To(Succeed())
	Eventually(ctx, read(hub, app)).Should(BeNil())
}

var _ = Describe("A work whose Application the hub has lost", func() {
	It("is listed by kubectl towline, which writes the decision", func(ctx SpecContext) {
		plugin, err := towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		adopted, deleted := standalone(ctx, "orphan-adopted", "cluster1"), standalone(ctx, "orphan-deleted", "cluster1")
		for _, app := range []*argocd.Application{adopted, deleted} {
			expectHealthy(ctx, app.Name)
		}
		before := uids(ctx, "cluster1", adopted.Name)
		left := deployment(ctx, "cluster1", deleted.Name)
		lose(ctx, adopted)
		lose(ctx, deleted)
		Expect(tow.Restart(ctx)).To(Succeed())

		expectRuns(ctx, plugin, f.Hub.Kubeconfig(), []string{"orphans"}, 2,
			And(ContainSubstring("argocd/"+adopted.Name), ContainSubstring("argocd/"+deleted.Name)))
		for verb, app := range map[string]*argocd.Application{"adopt": adopted, "delete": deleted} {
			out, code := runs(ctx, plugin, f.Hub.Kubeconfig(), "orphans", verb, workOf(app).Namespace+"/"+workOf(app).Name,
				"--yes", "--wait", "--timeout", soon.String())
			Expect(code).To(BeZero(), out)
		}
		Expect(uids(ctx, "cluster1", adopted.Name)).To(Equal(before))
		Expect(read(cluster["cluster1"], named(deleted.Name))(ctx)).To(BeNil())
		Expect(deployment(ctx, "cluster1", deleted.Name).UID).To(Equal(left.UID))
		expectRuns(ctx, plugin, f.Hub.Kubeconfig(), []string{"orphans", "--cluster", "cluster1"}, 0,
			Not(Or(ContainSubstring(adopted.Name), ContainSubstring(deleted.Name))))
		Expect(client.IgnoreNotFound(cluster["cluster1"].Delete(ctx, named(adopted.Name)))).To(Succeed())
	}, NodeTimeout(5*soon))

	It("is kept, and released after a user's decision", func(ctx SpecContext) {
		app := standalone(ctx, "lost", "cluster1")
		expectHealthy(ctx, app.Name)
		before := uids(ctx, "cluster1", app.Name)
		lose(ctx, app)
		adopting, err := towline.Run(ctx, f, binary, "towline-adopting", "--after-restore=adopt")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			adopting.Stop()
			Expect(tow.Restart(ctx)).To(Succeed())
		})
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Expect(uids(ctx, "cluster1", app.Name)).To(Equal(before))
		there, err := read(cluster["cluster1"], named(app.Name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(there.OwnerReferences).To(BeEmpty())
		Expect(there.Finalizers).To(BeEmpty())
		Expect(client.IgnoreNotFound(cluster["cluster1"].Delete(ctx, there))).To(Succeed())
	})

	It("loses its Application on the cluster and keeps the workload, after the finalizer was removed on the hub", func(ctx SpecContext) {
		app := standalone(ctx, "not-cascaded", "cluster2")
		expectHealthy(ctx, app.Name)
		before := deployment(ctx, "cluster2", app.Name)
		tow.Stop()
		patchHub(ctx, app.Name, `{"metadata":{"finalizers":null}}`)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(tow.Restart(ctx)).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Expect(read(cluster["cluster2"], named(app.Name))(ctx)).To(BeNil())
		Expect(deployment(ctx, "cluster2", app.Name).UID).To(Equal(before.UID))
	})
})
