package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// markedBy adds the marks of the hub's Argo CD to an object, as if an Application with the given name had deployed the
// object. It adds the marks of all tracking methods.
func markedBy(app string, obj client.Object) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[apis.LabelInstance] = app
	annotations[apis.AnnotationTrackingID] = fmt.Sprintf("%s:x/Y:%s/%s", app, obj.GetNamespace(), obj.GetName())
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

// appOfApps makes a cluster's own Application. The Application deploys a ConfigMap into Argo CD's namespace of the
// cluster, and prunes all other objects with its marks.
func appOfApps(ctx context.Context, on, name string) *argocd.Application {
	GinkgoHelper()
	manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
	Expect(f.Git.Create(ctx, name, fstest.MapFS{"config.yaml": {Data: []byte(manifest), Mode: 0o644}})).To(Succeed())
	app := named(name)
	app.Finalizers = []string{apis.FinalizerResources}
	app.Spec.Raw = []byte(strings.ReplaceAll(spec(".", argocdNamespace), f.Git.URL("apps"), f.Git.URL(name)))
	Expect(cluster[on].Create(ctx, app)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(client.IgnoreNotFound(cluster[on].Delete(ctx, app))).To(Succeed())
		Eventually(ctx, read(cluster[on], app)).Should(BeNil())
	})
	return app
}

// expectCompared waits until a cluster's Argo CD has compared an Application again, and shows the Application as
// Synced.
func expectCompared(ctx context.Context, on, name string) *argocd.Application {
	GinkgoHelper()
	before := time.Now().UTC().Truncate(time.Second).Add(time.Second) // Argo CD writes whole seconds
	var app *argocd.Application
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		var err error
		app, err = read(cluster[on], named(name))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(app).NotTo(BeNil())
		if app.Status.ReconciledAt < before.Format(time.RFC3339) && app.Refresh() == "" {
			hardRefresh(ctx, on, name)
		}
		g.Expect(app.Status.ReconciledAt >= before.Format(time.RFC3339)).To(BeTrue(), "compared at %s", app.Status.ReconciledAt)
		g.Expect(app.Status.Sync).To(HaveField("Status", "Synced"))
	}).Should(Succeed())
	return app
}

var _ = Describe("A hub and a cluster with an app-of-apps of one name", func() {
	const on, apps = "cluster2", "everything"

	It("do not fight over the delivered Application", func(ctx SpecContext) {
		const name = "shared-name"
		appOfApps(ctx, on, apps)
		namespaceOn(ctx, cluster[on], name)
		project, config := projectNamed(name), configMapOn(argocdNamespace, name)
		Expect(json.Unmarshal([]byte(`{"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}],`+
			`"clusterResourceWhitelist":[{"group":"","kind":"Namespace"}]}`), &project.Spec)).To(Succeed())
		config.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
		for _, obj := range []client.Object{project, config} {
			markedBy(apps, obj)
			Expect(hub.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(hub.Delete(ctx, obj))).To(Succeed()) })
		}
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
			b.Spec(specOf(name, "guestbook", name)).Annotation(apis.AnnotationWith, "configmap/"+name)
			b.Label(apis.LabelInstance, apps).Annotation(apis.AnnotationTrackingID, apps+":argoproj.io/Application:argocd/"+name)
		})
		expectHealthy(ctx, app.Name)

		// All delivered objects, and their UIDs.
		delivered := []client.Object{named(name), projectNamed(name), configMapOn(name, name), guestbookOf(name)}
		uids := map[client.Object]types.UID{}
		for _, obj := range delivered {
			Eventually(ctx, read(cluster[on], obj)).ShouldNot(BeNil(), "%T %s", obj, obj.GetName())
			there, err := read(cluster[on], obj)(ctx)
			Expect(err).NotTo(HaveOccurred())
			uids[obj] = there.GetUID()
		}
		unchanged := func() {
			GinkgoHelper()
			for _, obj := range delivered {
				there, err := read(cluster[on], obj)(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(there).NotTo(BeNil(), "%T %s", obj, obj.GetName())
				Expect(there.GetUID()).To(Equal(uids[obj]), "%T %s", obj, obj.GetName())
				Expect(there.GetDeletionTimestamp().IsZero()).To(BeTrue(), "%T %s", obj, obj.GetName())
			}
		}
		own := expectCompared(ctx, on, apps)
		Expect(own.Status.Resources).To(ConsistOf(HaveField("Kind", "ConfigMap")), "the cluster's app-of-apps has more than its own")
		unchanged()

		// The deletion of the cluster's Application deletes all objects that it owns.
		Expect(cluster[on].Delete(ctx, own)).To(Succeed())
		Eventually(ctx, read(cluster[on], own)).Should(BeNil())
		Expect(read(cluster[on], configMapOn(argocdNamespace, apps))(ctx)).To(BeNil())
		unchanged()
		expectHealthy(ctx, app.Name)
	})

	It("do not fight after an upgrade either: the work agent removes the tracking marks", func(ctx SpecContext) {
		const name = "marked"
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
			b.Label(apis.LabelInstance, apps).Annotation(apis.AnnotationTrackingID, apps+":argoproj.io/Application:argocd/"+name)
		})
		expectHealthy(ctx, name)
		before, err := read(cluster[on], named(name))(ctx)
		Expect(err).NotTo(HaveOccurred())

		patchHub(ctx, name, annotationPatch(apis.AnnotationPaused, "true")) // for a while, the work has the form of an earlier version
		expectCondition(ctx, name, apis.ConditionPausedWarning, apis.AnnotationPaused)
		Eventually(ctx, func(ctx context.Context) error {
			w, err := read(hub, workOf(app))(ctx)
			if err != nil {
				return err
			}
			held := &argocd.Application{}
			if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, held); err != nil {
				return err
			}
			markedBy(apps, held)
			held.Finalizers = append(held.Finalizers, "example.com/mine", apis.FinalizerPreDelete)
			raw, err := json.Marshal(held)
			if err != nil {
				return err
			}
			old := w.DeepCopy()
			old.Spec.Workload.Manifests[0].Raw = raw
			return hub.Patch(ctx, old, client.MergeFromWithOptions(w, client.MergeFromWithOptimisticLock{}))
		}).Should(Succeed())
		Eventually(ctx, read(cluster[on], named(name))).Should(And(
			HaveField("Labels", HaveKeyWithValue(apis.LabelInstance, apps)),
			HaveField("Annotations", HaveKey(apis.AnnotationTrackingID)),
			HaveField("Finalizers", ContainElement("example.com/mine")),
		))

		patchHub(ctx, name, annotationPatch(apis.AnnotationPaused, ""))
		Eventually(ctx, read(cluster[on], named(name))).Should(And(
			HaveField("Labels", Not(HaveKey(apis.LabelInstance))),
			HaveField("Annotations", Not(HaveKey(apis.AnnotationTrackingID))),
			HaveField("Finalizers", ConsistOf(apis.FinalizerResources)),
			HaveField("UID", before.UID),
		))
		expectHealthy(ctx, name)
	})
})

var _ = Describe("An Application with finalizers that the cluster's Argo CD does not know", func() {
	It("is gone from both when the cluster has removed it", func(ctx SpecContext) {
		const name, on = "pre-delete", "cluster1"
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
			b.Finalizers(apis.FinalizerPreDelete, apis.FinalizerPreDelete+"/cleanup", apis.FinalizerResources)
		})
		expectHealthy(ctx, name)
		Expect(read(cluster[on], named(name))(ctx)).To(HaveField("Finalizers", ConsistOf(apis.FinalizerResources)))
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil())
		Expect(read(cluster[on], guestbookOf(name))(ctx)).To(BeNil())
	})
})
