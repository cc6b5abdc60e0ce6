package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// readersManifest has a namespace with an ApplicationSet for pull, and a user with the role view in the namespace.
func readersManifest(namespace string) string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: %[1]s},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: %[1]s}
spec:
  generators: [{list: {elements: [{name: cluster1}]}}]
  template:
    metadata: {name: a, labels: {%[2]s: "true"}, annotations: {%[3]s: cluster1, %[4]s: "true"}}
    spec: {project: default, destination: {server: %[5]q, namespace: %[1]s}, source: {repoURL: "https://none.example", path: a}}
---
{apiVersion: apps.open-cluster-management.io/v1alpha1, kind: ApplicationReport, metadata: {name: app, namespace: %[1]s},
 observedAt: "2026-01-01T00:00:00Z", application: {name: app, namespace: %[1]s, resourceVersion: "1"}}
---
{apiVersion: apps.open-cluster-management.io/v1beta1, kind: GitOpsCluster, metadata: {name: clusters, namespace: %[1]s},
 spec: {argoServer: {argoNamespace: %[1]s}, placementRef: {kind: Placement, apiVersion: cluster.open-cluster-management.io/v1beta1, name: none}}}
`, namespace, apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile, apis.InClusterServer)
}

var _ = Describe("A tenant with Kubernetes' role view in its namespace", usesRights, func() {
	const mine = "readers"

	It("reads Towline's reports in that namespace only", func(ctx SpecContext) {
		apply(ctx, readersManifest(mine))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "namespace", mine, "--wait=false")
			Expect(err).NotTo(HaveOccurred())
		})
		// The spec creates the Application, because the hub's ApplicationSet controller watches only Argo CD's
		// namespace.
		set := raw("argoproj.io/v1alpha1", "ApplicationSet", mine, "set")
		Expect(hub.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
		app := fixture.Application("a").Namespace(mine).Cluster("cluster1").ApplicationSet("set").Owner(set.GetUID()).Spec(spec("guestbook", mine)).Obj()
		app.UID = ""
		Expect(hub.Create(ctx, app)).To(Succeed())
		reader := clientWith(f.Hub.UserKubeconfig("reader"))
		type object struct{ apiVersion, kind, name string }
		objects := []object{
			// The ApplicationReport is first: Towline deletes the report a minute after its creation, because no
			// ManifestWork owns the report.
			{"apps.open-cluster-management.io/v1alpha1", "ApplicationReport", "app"},
			{"apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport", "set"},
		}
		if *profile != profileACM { // ACM has its own roles for GitOpsClusters
			objects = append(objects, object{"apps.open-cluster-management.io/v1beta1", "GitOpsCluster", "clusters"})
		}
		for _, o := range objects {
			own, other := raw(o.apiVersion, o.kind, mine, o.name), raw(o.apiVersion, o.kind, argocdNamespace, o.name)
			Eventually(ctx, func(ctx context.Context) error {
				return reader.Get(ctx, client.ObjectKeyFromObject(own), own)
			}).Should(Succeed(), o.kind)
			Expect(apierrors.IsForbidden(reader.Get(ctx, client.ObjectKeyFromObject(other), other))).To(BeTrue(), "%s of another namespace", o.kind)
			Expect(apierrors.IsForbidden(reader.Delete(ctx, own))).To(BeTrue(), "%s, to delete", o.kind)
		}
	}, NodeTimeout(3*soon))
})
