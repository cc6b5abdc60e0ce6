package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/fixture"
)

// releaseMap returns the file with the ConfigMap of a release, in the folder frozen of the fleet's repository.
func releaseMap(release string) map[string]string {
	return map[string]string{"frozen/release.yaml": fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: release}\ndata: {release: %q}\n", release)}
}

var _ = Describe("An Application whose binding is deleted", func() {
	It("deploys no new commit until the binding is back", func(ctx SpecContext) {
		const name, on = "frozen", "cluster1"
		manifest, err := f.Git.Read(ctx, fleet.AppsRepo, "guestbook/deployment.yaml")
		Expect(err).NotTo(HaveOccurred())
		files := releaseMap("one")
		files["frozen/deployment.yaml"] = manifest
		_, err = f.Git.Commit(ctx, fleet.AppsRepo, files, "Release one")
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Spec(spec("frozen", name)) })
		expectAtRest(ctx, name)
		before := deployment(ctx, on, name)

		granted := &clusterv1beta2.ManagedClusterSetBinding{}
		granted.Namespace, granted.Name = argocdNamespace, "global"
		DeferCleanup(func(ctx SpecContext) {
			Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/hub/managedclustersetbinding.yaml")).To(Succeed())
		})
		Expect(hub.Delete(ctx, granted)).To(Succeed())
		expectForbidden(ctx, app, "cluster cluster1 has confirmed that automated sync is off")

		sha, err := f.Git.Commit(ctx, fleet.AppsRepo, releaseMap("two"), "Release two")
		Expect(err).NotTo(HaveOccurred())
		hardRefresh(ctx, on, name)
		outOfSync := And(HaveField("Status.Sync.Revision", sha), HaveField("Status.Sync.Status", "OutOfSync"))
		Eventually(ctx, read(cluster[on], named(name))).Should(outOfSync)
		Eventually(ctx, read(hub, named(name))).Should(outOfSync)
		Expect(released(ctx, on, name)).To(Equal("one"), "the cluster deploys what its tenant pushes")
		now := deployment(ctx, on, name)
		Expect(now.UID).To(Equal(before.UID))
		Expect(now.Generation).To(Equal(before.Generation))

		Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, "example/hub/managedclustersetbinding.yaml")).To(Succeed())
		Eventually(ctx, func(ctx context.Context) (string, error) { return released(ctx, on, name) }).Should(Equal("two"))
		Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Sync.Revision", sha))
		expectHealthy(ctx, name)
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
	})
})

// released returns the release that runs on a cluster.
func released(ctx context.Context, on, namespace string) (string, error) {
	there := &corev1.ConfigMap{}
	there.Namespace, there.Name = namespace, "release"
	got, err := read(cluster[on], there)(ctx)
	if err != nil || got == nil {
		return "", err
	}
	return got.Data["release"], nil
}
