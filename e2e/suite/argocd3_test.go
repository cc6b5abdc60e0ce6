package suite

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/matrix"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// oldest returns whether the suite runs with the oldest versions.
func oldest() bool { return fleet.EndOr("") == fleet.Oldest }

// argoVersions returns the versions of Argo CD in the suite's fleet.
func argoVersions() []string {
	return slices.Compact(slices.Sorted(slices.Values(fleet.ArgoCDOr(fleet.EndOr("").ArgoCD()...))))
}

// clustersWith returns the clusters with the given version of Argo CD, 3 or 2.14. If the fleet has no cluster with the version,
// the spec of the feature is skipped.
func clustersWith(version, feature string) (names []string) {
	GinkgoHelper()
	for _, c := range f.Clusters() {
		if strings.HasPrefix(c.ArgoCDVersion(), version) {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		Skip(matrix.Lacks("Argo CD "+f.Clusters()[0].ArgoCDVersion()+" on the clusters", feature))
	}
	return names
}

// needArgoCD3 skips the spec of a feature if the hub has Argo CD 2.
func needArgoCD3(feature string) {
	GinkgoHelper()
	if version := f.Hub.ArgoCDVersion(); strings.HasPrefix(version, "2.") {
		Skip(matrix.Lacks("Argo CD "+version+" on the hub", feature))
	}
}

var _ = Describe("What is new in Argo CD 3", func() {
	It("runs hooks before a deletion on the cluster, and the hub waits for them", func(ctx SpecContext) {
		const name = "before-the-end"
		on := clustersWith("3", "hooks before a deletion")[0]
		Expect(f.Git.Create(ctx, name, testdataFS("configmap.yaml"))).To(Succeed())
		_, err := f.Git.Commit(ctx, name, map[string]string{"job.yaml": strings.ReplaceAll(farewell, "PostDelete", "PreDelete")}, "Ask before")
		Expect(err).NotTo(HaveOccurred())
		app := standalone(ctx, name, on, func(b *fixture.ApplicationBuilder) {
			b.Spec(strings.ReplaceAll(spec(".", name), f.Git.URL("apps"), f.Git.URL(name)))
		})
		expectHealthy(ctx, name)
		// Argo CD 3 adds its finalizers on the cluster, and Towline leaves the finalizers alone.
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Finalizers", ConsistOf(
			apis.FinalizerResources, apis.FinalizerPreDelete, apis.FinalizerPreDelete+"/cleanup")))
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "farewell"}}
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "settings"}}
		Expect(read(cluster[on], job)(ctx)).To(BeNil())

		ofHook, ofConfig := lifeOf(ctx, on, &batchv1.JobList{}, job), lifeOf(ctx, on, &corev1.ConfigMapList{}, config)
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Expect(read(cluster[on], named(name))(ctx)).To(BeNil(), "the hub says gone before the cluster, where a hook may still run")
		Expect(read(cluster[on], config)(ctx)).To(BeNil())
		Eventually(ctx, func(g Gomega) {
			ran, _ := ofHook()
			g.Expect(ran).NotTo(BeZero(), "the hook has not run")
			_, gone := ofConfig()
			g.Expect(gone).To(BeNumerically(">", ran), "the resources went before the hook ran")
		}).Should(Succeed())
	})

	It("tracks by annotation where 2.14 tracks by label, each with the cluster's own Application", func(ctx SpecContext) {
		for version, mark := range map[string]func(metav1.Object) string{
			"3": func(o metav1.Object) string {
				return strings.SplitN(o.GetAnnotations()[apis.AnnotationTrackingID], ":", 2)[0]
			},
			"2.14": func(o metav1.Object) string { return o.GetLabels()[apis.LabelInstance] },
		} {
			on := clustersWith(version, "tracking by annotation beside tracking by label")[0]
			name := "tracked-" + on
			standalone(ctx, name, on)
			expectHealthy(ctx, name)
			deployment, err := read(cluster[on], guestbookOf(name))(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(mark(deployment)).To(Equal(name), "on Argo CD %s", version)
		}
	})

	It("has fields that an older Argo CD refuses: the Application names the field, and continues without the field", func(ctx SpecContext) {
		const feature = "new fields of Argo CD 3"
		newer, older := clustersWith("3", feature)[0], clustersWith("2.14", feature)[0]
		with := func(on string) func(*fixture.ApplicationBuilder) {
			return func(b *fixture.ApplicationBuilder) {
				b.Spec(strings.Replace(spec("guestbook", "field-"+on), `"syncPolicy":{`, `"syncPolicy":{"retry":{"limit":1,"refresh":true},`, 1))
			}
		}
		standalone(ctx, "field-"+newer, newer, with(newer))
		app := standalone(ctx, "field-"+older, older, with(older))
		expectHealthy(ctx, "field-"+newer)
		expectCondition(ctx, app.Name, apis.ConditionWorkApplyError, ".spec.syncPolicy.retry.refresh")
		message, err := conditionMessage(ctx, app.Name, apis.ConditionWorkApplyError)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("on Argo CD 2.14: " + message)

		plain := []byte(`{"spec":` + spec("guestbook", app.Name) + `}`)
		Expect(hub.Patch(ctx, app, merge(strings.Replace(string(plain), `"syncPolicy":{`, `"syncPolicy":{"retry":null,`, 1)))).To(Succeed())
		expectHealthy(ctx, app.Name)
		expectNoCondition(ctx, app.Name, apis.ConditionWorkApplyError)
	})
})
