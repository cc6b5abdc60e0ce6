package suite

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// farewell is a hook that Argo CD runs after an Application's resources have been deleted.
const farewell = `apiVersion: batch/v1
kind: Job
metadata:
  name: farewell
  annotations: {argocd.argoproj.io/hook: PostDelete}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: farewell, image: farewell}]
`

var _ = Describe("A deletion with all of Argo CD's finalizers", func() {
	It("waits for the cascade and for the hooks after the cascade", func(ctx SpecContext) {
		const name, on = "farewell", "cluster2"
		Expect(f.Git.Create(ctx, name, testdataFS("configmap.yaml"))).To(Succeed())
		_, err := f.Git.Commit(ctx, name, map[string]string{"job.yaml": farewell}, "Say farewell")
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
			b.Spec(strings.ReplaceAll(spec(".", name), f.Git.URL("apps"), f.Git.URL(name))).Finalizers(
				apis.FinalizerResources+"/foreground", apis.FinalizerPostDelete, apis.FinalizerPostDelete+"/cleanup")
		})
		expectHealthy(ctx, name)
		there, err := read(cluster[on], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(there.Finalizers).To(ConsistOf(app.Finalizers))
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "farewell"}}
		Expect(read(cluster[on], job)(ctx)).To(BeNil())

		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "settings"}}
		ofHook, ofConfig := lifeOf(ctx, on, &batchv1.JobList{}, job), lifeOf(ctx, on, &corev1.ConfigMapList{}, config)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil(), "the hub says gone before the cluster, where a hook may still run")
		Expect(read(cluster[on], config)(ctx)).To(BeNil())
		Eventually(ctx, func(g Gomega) {
			ran, _ := ofHook()
			g.Expect(ran).NotTo(BeZero(), "the hook has not run")
			_, gone := ofConfig()
			g.Expect(gone).NotTo(BeZero())
			g.Expect(ran).To(BeNumerically(">", gone), "the hook ran before the resources were deleted")
		}).Should(Succeed())
	})
})
