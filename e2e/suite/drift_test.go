package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// agentLooks is a little longer than the interval in which the work agent (v1.2.0) looks at a work again.
const agentLooks = 7 * time.Minute

// editThere patches an Application on a cluster, as a user there would.
func editThere(ctx context.Context, on, name, patch string) {
	GinkgoHelper()
	Expect(cluster[on].Patch(ctx, named(name), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// specThere returns a reader of the spec of a cluster's Application.
func specThere(on, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		app, err := read(cluster[on], named(name))(ctx)
		if err != nil || app == nil {
			return "", err
		}
		return string(app.Spec.Raw), nil
	}
}

// workNow returns the current work of an Application on the hub.
func workNow(ctx context.Context, app *argocd.Application) *workv1.ManifestWork {
	GinkgoHelper()
	w, err := read(hub, workOf(app))(ctx)
	Expect(err).NotTo(HaveOccurred())
	return w
}

// appliedAt returns the time of the work agent's last change of an Application on the cluster.
func appliedAt(ctx context.Context, on, name string) time.Time {
	GinkgoHelper()
	app, err := read(cluster[on], named(name))(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, m := range app.ManagedFields {
		if m.Manager == "work-agent" && m.Operation == "Apply" {
			return m.Time.Time
		}
	}
	Fail("the work agent has applied nothing")
	return time.Time{}
}

var _ = Describe("The hub's spec on a cluster", func() {
	It("arrives even if only a type or a list has changed", func(ctx SpecContext) {
		const name = "corrected"
		standalone(ctx, name, "cluster2")
		expectHealthy(ctx, name)
		began := time.Now()
		patchHub(ctx, name, `{"spec":{"syncPolicy":{"syncOptions":["CreateNamespace=true ServerSideApply=true"]}}}`)
		Eventually(ctx, specThere("cluster2", name)).Should(ContainSubstring(`["CreateNamespace=true ServerSideApply=true"]`))
		corrected := time.Now()
		patchHub(ctx, name, `{"spec":{"syncPolicy":{"syncOptions":["CreateNamespace=true","ServerSideApply=true"]}}}`)
		Eventually(ctx, specThere("cluster2", name)).Should(ContainSubstring(`["CreateNamespace=true","ServerSideApply=true"]`))
		AddReportEntry(fmt.Sprintf("the mistake arrived in %s, the correction in %s",
			corrected.Sub(began).Round(time.Millisecond), time.Since(corrected).Round(time.Millisecond)))
	})

	It("is restored within a minute after an edit on the cluster", func(ctx SpecContext) {
		const name = "drifts"
		app := standalone(ctx, name, "cluster2")
		expectHealthy(ctx, name)
		before, err := specThere("cluster2", name)(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i, patch := range []string{
			`{"spec":{"source":{"path":"helm-guestbook","targetRevision":"HEAD"},"syncPolicy":{"automated":null}}}`,
			`{"metadata":{"finalizers":null}}`,
		} {
			edited := time.Now()
			editThere(ctx, "cluster2", name, patch)
			Eventually(ctx, read(cluster["cluster2"], named(name))).WithTimeout(time.Minute).Should(And(
				HaveField("Finalizers", ContainElement(apis.FinalizerResources)),
				HaveField("Spec.Raw", MatchJSON(before))))
			AddReportEntry(fmt.Sprintf("%s was set back after %s", patch, time.Since(edited).Round(time.Millisecond)))
			// A write of the hub for another reason repairs an edit too.
			Expect(work.EditSeenBy(workNow(ctx, app)).Count).To(BeNumerically("<=", i+1), "one write for each edit")
		}
		expectNoCondition(ctx, name, apis.ConditionPropagationError)
		expectNoCondition(ctx, name, apis.ConditionEditedWarning)
	})

	It("is restored more and more slowly after repeated edits by a program on the cluster", long, func(ctx SpecContext) {
		const name = "fought"
		app := standalone(ctx, name, "cluster2")
		expectHealthy(ctx, name)
		Consistently(ctx, func(ctx context.Context) error { // the program that edits the Application
			edit := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"source":{"targetRevision":"HEAD"}}}`))
			return cluster["cluster2"].Patch(ctx, named(name), edit)
		}).WithTimeout(90 * time.Second).WithPolling(tick).Should(Succeed())
		expectCondition(ctx, name, apis.ConditionEditedWarning, "a writer on cluster cluster2 has changed the Application")
		count := work.EditSeenBy(workNow(ctx, app)).Count
		AddReportEntry(fmt.Sprintf("%d writes in 90 seconds of edits", count))
		Expect(count).To(BeNumerically("<=", 6))
	})

	It("is not written again if the cluster's Argo CD stores the spec in a different form", long, func(ctx SpecContext) {
		const plain = "normalized"
		app := standalone(ctx, plain, "cluster2", func(b *fixture.ApplicationBuilder) {
			b.Spec(`{"project":"default","source":{"repoURL":"` + f.Git.URL(fleet.AppsRepo) + `","path":"guestbook","targetRevision":"main",` +
				`"kustomize":{},"helm":{}},` +
				`"destination":{"server":"https://kubernetes.default.svc","namespace":"` + plain + `"},` +
				`"syncPolicy":{"automated":{},"syncOptions":["CreateNamespace=true"]}}`)
		})
		expectHealthy(ctx, plain)
		still := appliedAt(ctx, "cluster2", plain)
		Consistently(ctx, func(ctx context.Context) time.Time { return appliedAt(ctx, "cluster2", plain) }).
			WithTimeout(agentLooks).WithPolling(5*time.Second).Should(Equal(still), "the work agent has written it")
		Expect(specThere("cluster2", plain)(ctx)).NotTo(Or(ContainSubstring("kustomize"), ContainSubstring("helm")))
		Expect(work.EditSeenBy(workNow(ctx, app)).Count).To(BeZero())
	})

	It("includes the finalizer for a cascade, even after its removal on the cluster", func(ctx SpecContext) {
		const name = "unfinalized"
		app := standalone(ctx, name, "cluster2")
		expectHealthy(ctx, name)
		By("removing the finalizer during a pause, so that Towline does not restore the finalizer at once")
		change(ctx, hub, named(name), annotationPatch(apis.AnnotationPaused, "true"))
		expectCondition(ctx, name, apis.ConditionPausedWarning, "")
		editThere(ctx, "cluster2", name, `{"metadata":{"finalizers":null}}`)
		Eventually(ctx, read(hub, workOf(app))).Should(HaveField("Status.ResourceStatus.Manifests",
			ContainElement(HaveField("StatusFeedbacks.Values", Not(ContainElement(HaveField("Name", "finalizer")))))))
		Expect(hub.Delete(ctx, named(name))).To(Succeed())
		change(ctx, hub, named(name), annotationPatch(apis.AnnotationPaused, ""))
		Eventually(ctx, read(hub, named(name))).Should(BeNil())
		Eventually(ctx, read(cluster["cluster2"], guestbookOf(name))).Should(BeNil())
	})
})

// promote changes the revision and requests a sync as Kargo does, and waits until the hub shows the end of the promotion. Kargo
// would request a sync again if the hub showed the end of another operation.
func promote(ctx context.Context, name, promotion, revision string) {
	GinkgoHelper()
	const note = "kargo.akuity.io/promotion"
	operation, err := json.Marshal(map[string]any{
		"initiatedBy": map[string]any{"username": "kargo-controller", "automated": true},
		"info":        []map[string]string{{"name": "Reason", "value": "promotion"}, {"name": note, "value": promotion}},
		"sync":        map[string]any{"revisions": []string{revision}, "syncOptions": []string{"CreateNamespace=true"}}, // of the Application
	})
	Expect(err).NotTo(HaveOccurred())
	patchHub(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"hard"}},"spec":{"source":{"targetRevision":%q}},"operation":%s,`+
		`"status":{"operationState":null}}`, apis.AnnotationRefresh, revision, operation))
	mine := func(o *argocd.OperationState) bool {
		return slices.Contains(o.Operation.Info, argocd.Info{Name: note, Value: promotion})
	}
	Eventually(ctx, func(ctx context.Context) (bool, error) {
		app, err := read(hub, named(name))(ctx)
		if err != nil || app.Status.OperationState == nil {
			return false, err
		}
		o := app.Status.OperationState
		if o.FinishedAt != "" && (!mine(o) || o.Phase != "Succeeded") {
			return false, StopTrying(fmt.Sprintf("the tool would ask again, or give up: it sees %+v", o))
		}
		return o.Phase == "Succeeded" && o.SyncResult != nil, nil
	}).WithPolling(20 * time.Millisecond).Should(BeTrue())
}

var _ = Describe("A promotion by a tool that asks as Kargo does", func() {
	It("is one sync, which the tool finds by its note", func(ctx SpecContext) {
		const name = "promoted"
		standalone(ctx, name, "cluster2")
		app := expectHealthy(ctx, name)
		Expect(app.Status.OperationState.Operation.Sync.Revision).To(Equal(app.Status.OperationState.SyncResult.Revision), "of the automated sync")
		Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.SourceType", "Directory"))
		there, err := read(cluster["cluster2"], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		syncs := len(there.Status.History)

		for _, promotion := range []string{"p1", "p2"} {
			began := time.Now()
			promote(ctx, name, promotion, "main")
			AddReportEntry(fmt.Sprintf("promotion %s ended after %s", promotion, time.Since(began).Round(time.Millisecond)))
			syncs++
		}
		Eventually(ctx, read(hub, named(name))).Should(HaveField("Operation", BeNil()))
		app, err = read(hub, named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(app.Status.OperationState.Operation.InitiatedBy).To(HaveField("Username", "kargo-controller"))
		Expect(app.Status.OperationState.Operation.Sync.Revisions).To(Equal([]string{"main"}), "as requested")
		there, err = read(cluster["cluster2"], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(there.Status.History).To(HaveLen(syncs), "a sync for each promotion")
	})
})
