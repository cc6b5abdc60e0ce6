package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

var _ = Describe("A promotion", usesRights, func() {
	It("moves nonprod with main, and prod with the label that a commit bumps, and nothing else", func(ctx SpecContext) {
		const nonprod, prod = "cluster1-promotion", "cluster2-promotion"
		commit := func(version string) string {
			GinkgoHelper()
			sha, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{
				"guestbook/version.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: version}\ndata: {version: " + version + "}\n",
			}, "Release "+version)
			Expect(err).NotTo(HaveOccurred())
			return sha
		}
		// bump commits a cluster's labels and applies them, as a GitOps tool of the hub does.
		bump := func(release string) {
			GinkgoHelper()
			labels := "{env: prod, release: " + release + "}"
			manifest := "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: cluster2, labels: " + labels + "}}"
			_, err := f.Git.Commit(ctx, "clusters", map[string]string{"configmap.yaml": manifest}, "Promote "+release)
			Expect(err).NotTo(HaveOccurred())
			committed, err := f.Git.Read(ctx, "clusters", "configmap.yaml")
			Expect(err).NotTo(HaveOccurred())
			apply(ctx, committed)
		}
		runs := func(name, revision string) {
			GinkgoHelper()
			Eventually(ctx, read(hub, named(name))).Should(And(
				HaveField("Status.Sync", And(HaveField("Status", "Synced"), HaveField("Revision", revision))),
				HaveField("Status.OperationState.SyncResult.Revision", revision), HaveField("Status.Health.Status", "Healthy")))
		}
		looksAgain := func() {
			hardRefresh(ctx, "cluster1", nonprod)
			hardRefresh(ctx, "cluster2", prod)
		}
		began := func(name string) string {
			GinkgoHelper()
			app, err := read(hub, named(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry(fmt.Sprintf("%s runs %s since %s", name, app.Status.Sync.Revision[:7], app.Status.OperationState.StartedAt))
			return app.Status.OperationState.StartedAt
		}

		Expect(f.Git.Create(ctx, "clusters", testdataFS("configmap.yaml"))).To(Succeed())
		one := commit("one")
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Git.Remove(ctx, fleet.AppsRepo, []string{"guestbook/version.yaml"}, "Remove the version")
			Expect(err).NotTo(HaveOccurred())
		})
		Expect(f.Git.Tag(ctx, fleet.AppsRepo, "v1.0.0", one)).To(Succeed())
		label(ctx, "cluster1", "env", "nonprod")
		bump("v1.0.0")
		DeferCleanup(func(ctx SpecContext) {
			label(ctx, "cluster1", "env", "")
			label(ctx, "cluster2", "env", "")
			label(ctx, "cluster2", "release", "")
		})
		withoutApplicationSet("promotion-app-set", nonprod, prod)
		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/promotion-app-set.yaml")).To(Succeed())
		for on, name := range map[string]string{"cluster1": nonprod, "cluster2": prod} {
			Eventually(ctx, read(cluster[on], named(name))).ShouldNot(BeNil())
		}
		looksAgain() // a repo server caches the list of tags for some minutes
		runs(nonprod, one)
		runs(prod, one)
		before := began(prod)

		two := commit("two")
		looksAgain()
		runs(nonprod, two)
		Expect(f.Git.Tag(ctx, fleet.AppsRepo, "v1.1.0", two)).To(Succeed())
		looksAgain()
		Consistently(ctx, func(ctx context.Context) string { return phaseOn(ctx, cluster["cluster2"], prod) }).
			WithTimeout(30 * tick).Should(HaveSuffix(before))
		runs(prod, one)
		after := began(nonprod)

		bump("v1.1.0")
		runs(prod, two)
		began(prod)
		Expect(began(nonprod)).To(Equal(after), "nonprod moved too")

		if *profile == profileACM {
			return // the ACM controller never removes labels from a cluster Secret
		}
		By("a cluster that loses its release, which stops the set and destroys nothing")
		kept, err := read(hub, named(prod))(ctx)
		Expect(err).NotTo(HaveOccurred())
		label(ctx, "cluster2", "release", "")
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return f.Hub.Kubectl(ctx, "-n", argocdNamespace, "get", "applicationset", "promotion-app-set",
				"-o", `jsonpath={.status.conditions[?(@.type=="ErrorOccurred")].status}`)
		}).Should(Equal("True"))
		Expect(read(hub, named(prod))(ctx)).To(HaveField("UID", kept.UID))
	})
})
