package suite

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// eventNote returns a reader of the note of an object's event on the hub with the given reason. The note is empty
// without an event.
func eventNote(about client.Object, reason string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &eventsv1.EventList{}
		err := hub.List(ctx, list, client.InNamespace(about.GetNamespace()))
		for _, e := range list.Items {
			if e.Regarding.Name == about.GetName() && e.Reason == reason {
				return e.Note, err
			}
		}
		return "", err
	}
}

var _ = Describe("An Application to which others on its cluster gave Argo CD's finalizer", func() {
	const on, elsewhere = "cluster3", "other-apps"
	const told = "a writer on cluster " + on + " gave the Application the finalizer " + apis.FinalizerResources
	// madeThere makes an Application on the cluster, and then the hub Application with the given finalizers, which
	// takes over the Application.
	madeThere := func(finalizers ...string) func(context.Context, string) *argocd.Application {
		return func(ctx context.Context, name string) *argocd.Application {
			GinkgoHelper()
			byHand(ctx, on, name, spec("guestbook", name), apis.FinalizerResources)
			app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Finalizers(finalizers...) })
			Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("OwnerReferences", HaveLen(1)))
			expectHealthy(ctx, name)
			return app
		}
	}
	// broughtThere makes an Application by the work of an older controller.
	broughtThere := func(ctx context.Context, name string) *argocd.Application {
		GinkgoHelper()
		app, w, restart := byOlderController(ctx, on, name)
		restart()
		Eventually(ctx, read(hub, w)).Should(HaveField("Spec.ManifestConfigs", HaveLen(1)))
		expectHealthy(ctx, name)
		return app
	}
	letGo := func(ctx context.Context, name string) {
		GinkgoHelper()
		_, err := f.Cluster(on).Kubectl(ctx, "-n", argocdNamespace, "patch", "applications.argoproj.io", name,
			"--type", "merge", "-p", `{"metadata":{"finalizers":null}}`)
		Expect(err).NotTo(HaveOccurred())
	}

	It("keeps its workload during a change of its namespace on the cluster", func(ctx SpecContext) {
		const name = "held-here"
		applicationsIn(ctx, on, elsewhere)
		madeThere(apis.FinalizerResources)(ctx, name)
		before := deployment(ctx, on, name)
		there := named(name)
		there.Namespace = elsewhere

		patchHub(ctx, name, annotationPatch(apis.AnnotationAppNamespace, elsewhere))
		expectCondition(ctx, name, apis.ConditionMoveWarning, told)
		Expect(read(cluster[on], named(name))(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		Expect(read(cluster[on], there)(ctx)).To(BeNil())
		message, err := conditionMessage(ctx, name, apis.ConditionMoveWarning)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry(message)

		letGo(ctx, name)
		Eventually(ctx, read(cluster[on], there)).Should(HaveField("Finalizers", ContainElement(apis.FinalizerResources)))
		Eventually(ctx, read(cluster[on], named(name))).Should(BeNil())
		expectNoCondition(ctx, name, apis.ConditionMoveWarning)
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))

		By("moving back")
		patchHub(ctx, name, annotationPatch(apis.AnnotationAppNamespace, ""))
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Finalizers", ContainElement(apis.FinalizerResources)))
		Eventually(ctx, read(cluster[on], there)).Should(BeNil())
		expectHealthy(ctx, name)
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))
	})

	DescribeTable("keeps its workload after the deletion of the hub's Application without a cascade", func(
		ctx SpecContext, name string, takenOver func(context.Context, string) *argocd.Application,
	) {
		app := takenOver(ctx, name)
		before := deployment(ctx, on, name)
		patchHub(ctx, name, `{"metadata":{"finalizers":null}}`)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Eventually(ctx, eventNote(workOf(app), apis.ReasonRemovalRefused)).Should(ContainSubstring(told))
		Expect(read(hub, workOf(app))(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		Expect(read(cluster[on], named(name))(ctx)).To(HaveField("DeletionTimestamp", BeNil()))
		note, err := eventNote(workOf(app), apis.ReasonRemovalRefused)(ctx)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry(note)

		letGo(ctx, name)
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		Eventually(ctx, read(cluster[on], named(name))).Should(BeNil())
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
		AddReportEntry(fmt.Sprintf("Deployment %s before and after", before.UID))

		By("the recreation, which takes the remaining workload along")
		standalone(ctx, name, on)
		expectHealthy(ctx, name)
		Expect(deployment(ctx, on, name).UID).To(Equal(before.UID))
	},
		Entry("after its finalizer was taken off", "held-and-dropped", madeThere(apis.FinalizerResources)),
		Entry("though it never had a finalizer", "held-and-preserved", madeThere()),
		Entry("delivered by an older controller", "held-by-older", broughtThere),
	)
})
