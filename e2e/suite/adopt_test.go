package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// byHand makes an Application on a cluster as the cluster's users would, and waits until its Deployment runs.
func byHand(ctx context.Context, on, name, spec string, finalizers ...string) *argocd.Application {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), name+".json")
	list, err := json.Marshal(finalizers)
	Expect(err).NotTo(HaveOccurred())
	manifest := fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",`+
		`"metadata":{"name":%q,"namespace":%q,"finalizers":%s},"spec":%s}`, name, argocdNamespace, list, spec)
	Expect(os.WriteFile(file, []byte(manifest), 0o600)).To(Succeed())
	_, err = f.Cluster(on).Kubectl(ctx, "apply", "--filename", file)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		_, err := f.Cluster(on).Kubectl(ctx, "delete", "--ignore-not-found", "--wait=false", "--filename", file)
		Expect(err).NotTo(HaveOccurred())
	})
	deployment(ctx, on, name)
	app, err := read(cluster[on], named(name))(ctx)
	Expect(err).NotTo(HaveOccurred())
	return app
}

var _ = Describe("An Application that exists on its cluster", func() {
	const on = "cluster3"

	It("is taken over without a restart if the content is equal", func(ctx SpecContext) {
		const name = "by-hand"
		byHand(ctx, on, name, spec("guestbook", name))
		before, synced := uids(ctx, on, name), syncs(ctx, on, name)
		app := standalone(ctx, name, on)
		Eventually(ctx, read(cluster[on], named(name))).Should(And(
			HaveField("OwnerReferences", HaveLen(1)), HaveField("Finalizers", ContainElement(apis.FinalizerResources))))
		expectAtRest(ctx, name)
		Expect(uids(ctx, on, name)).To(Equal(before))
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		// The cluster may sync without a request at any time. Each such sync allows the work two more writes: the work
		// asks the cluster for more feedback until the hub shows the sync.
		further := syncs(ctx, on, name) - synced
		Expect(w.Generation).To(BeNumerically("<=", 2+2*further), "it was made, and written once the hub had shown the first comparison")
		AddReportEntry(fmt.Sprintf("taken over: %v before and after", before))

		// From now on, Towline manages the adopted Application like every Application: its users' changes reach the
		// cluster, and a deletion removes it.
		patchHub(ctx, name, fmt.Sprintf(`{"spec":%s}`, spec("kustomize-guestbook/overlays/dev", name)))
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Spec.Raw", ContainSubstring("overlays/dev")))
		Expect(read(hub, workOf(app))(ctx)).To(WithTransform(work.UpdateModeOf, Equal(work.ForceApply)))
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
	})

	It("stays unchanged if the content differs, until adopt is always", func(ctx SpecContext) {
		const name = "by-hand-too"
		there := byHand(ctx, on, name, strings.Replace(spec("guestbook", name), `"targetRevision":"main"`, `"targetRevision":"HEAD"`, 1))
		before := uids(ctx, on, name)
		untouched := func() {
			GinkgoHelper()
			now, err := read(cluster[on], there)(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(now).To(And(HaveField("Spec", there.Spec), HaveField("Labels", there.Labels),
				HaveField("Finalizers", BeEmpty()), HaveField("OwnerReferences", BeEmpty())))
			Expect(uids(ctx, on, name)).To(Equal(before))
		}
		app := standalone(ctx, name, on)
		expectCondition(ctx, name, apis.ConditionPropagationError, ".spec.source.targetRevision")
		expectCondition(ctx, name, apis.ConditionPropagationError, "kubectl-client-side-apply")
		message, err := conditionMessage(ctx, name, apis.ConditionPropagationError)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry(message)
		untouched()

		By("being released or deleted on the hub")
		patchHub(ctx, name, annotationPatch(apis.AnnotationRelease, "true"))
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		untouched()
		patchHub(ctx, name, annotationPatch(apis.AnnotationRelease, ""))
		expectCondition(ctx, name, apis.ConditionPropagationError, ".spec.source.targetRevision")
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		untouched()

		By("being deleted on the hub without a cascade")
		app = standalone(ctx, name, on)
		expectCondition(ctx, name, apis.ConditionPropagationError, ".spec.source.targetRevision")
		noCascade(ctx, app)
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
		untouched()

		By("never")
		standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationAdopt, apis.AdoptNever) })
		expectCondition(ctx, name, apis.ConditionPropagationError, "delete the Application on the cluster")
		untouched()

		By("always")
		patchHub(ctx, name, annotationPatch(apis.AnnotationAdopt, apis.AdoptAlways))
		expectNoCondition(ctx, name, apis.ConditionPropagationError)
		Eventually(ctx, read(cluster[on], there)).Should(And(
			HaveField("UID", there.UID), HaveField("OwnerReferences", HaveLen(1)),
			HaveField("Spec.Raw", ContainSubstring(`"targetRevision":"main"`))))
		expectHealthy(ctx, name)
		Expect(uids(ctx, on, name)).To(Equal(before))
	})

	It("stays unchanged if the adopt annotation is invalid", func(ctx SpecContext) {
		const name = "by-hand-misspelt"
		there := byHand(ctx, on, name, spec("guestbook", name))
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationAdopt, "Never") })
		expectCondition(ctx, name, apis.ConditionPropagationError, `"Never" is not one of never, matching, always`)
		Expect(read(hub, workOf(app))(ctx)).To(BeNil())
		Expect(read(cluster[on], there)(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
		patchHub(ctx, name, annotationPatch(apis.AnnotationAdopt, apis.AdoptNever))
		expectCondition(ctx, name, apis.ConditionPropagationError, "delete the Application on the cluster")
	})

	It("is looked for before a delivery if adopt is never", func(ctx SpecContext) {
		app := standalone(ctx, "nobodys", on, func(b *fixture.ApplicationBuilder) { b.Annotation(apis.AnnotationAdopt, apis.AdoptNever) })
		expectAtRest(ctx, app.Name)
		Expect(read(hub, workOf(app))(ctx)).To(WithTransform(work.UpdateModeOf, Not(Equal(work.ReadOnly))))

		By("a release that is taken back")
		before, there := uids(ctx, on, app.Name), named(app.Name)
		release := func() {
			GinkgoHelper()
			patchHub(ctx, app.Name, annotationPatch(apis.AnnotationRelease, "true"))
			Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
			Expect(read(cluster[on], there)(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
			Expect(uids(ctx, on, app.Name)).To(Equal(before))
		}
		release()
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationRelease, ""))
		Eventually(ctx, read(cluster[on], there)).Should(HaveField("OwnerReferences", HaveLen(1)))
		expectNoCondition(ctx, app.Name, apis.ConditionPropagationError)
		Expect(uids(ctx, on, app.Name)).To(Equal(before))

		By("a release whose undo the cluster refuses")
		release()
		_, err := f.Cluster(on).Kubectl(ctx, "-n", argocdNamespace, "annotate", "applications.argoproj.io", app.Name, apis.AnnotationWork+"-")
		Expect(err).NotTo(HaveOccurred())
		patchHub(ctx, app.Name, annotationPatch(apis.AnnotationRelease, ""))
		expectCondition(ctx, app.Name, apis.ConditionPropagationError, "delete the Application on the cluster")
		Expect(read(cluster[on], there)(ctx)).To(HaveField("OwnerReferences", BeEmpty()))
	})
})
