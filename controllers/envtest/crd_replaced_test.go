package envtest_test

import (
	"context"
	"net/http"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// replacingCRD returns a function that installs either the published CRD of other products or Towline's own CRD for a
// kind, until the test ends. prunes reports whether the hub serves the published CRD.
func replacingCRD(t *testing.T, plural string, prunes func() bool) (serve func(published bool)) {
	t.Helper()
	unshared(t)
	read := func(file string) []apiextensionsv1.CustomResourceDefinitionVersion {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			t.Fatal(err)
		}
		return crd.Spec.Versions
	}
	versions := map[bool][]apiextensionsv1.CustomResourceDefinitionVersion{
		true: read(published + "/" + plural + ".crd.yaml"), false: read("../../deploy/crds/" + apis.Group + "_" + plural + ".yaml"),
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + apis.Group}}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			t.Fatal(err)
		}
		crd.Spec.Versions = versions[*publishedCRDs]
		if err := k8s.Update(ctx, crd); err != nil {
			t.Fatal(err)
		}
	})
	return func(published bool) {
		t.Helper()
		edit(t, crd, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = versions[published] })
		NewWithT(t).Eventually(prunes, soon, tick).Should(Equal(published))
	}
}

// TestAggregationWhoseCRDIsReplaced: without any further change, reports contain all the fields that the CRD keeps, in
// either order of the two CRDs. Under the published CRD, Towline does not rewrite the cut reports. Under its own CRD,
// Towline writes each cut report once. A single event names the missing fields.
func TestAggregationWhoseCRDIsReplaced(t *testing.T) {
	probe := &v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace(t, unique("probe")), Name: "probe"}}
	probe.Status.Conditions = []metav1.Condition{{
		Type: "Probe", Status: metav1.ConditionTrue, Reason: "Probe", LastTransitionTime: metav1.Now(),
	}}
	serve := replacingCRD(t, "multiclusterapplicationsetreports", func() bool {
		now := probe.DeepCopy()
		if err := k8s.Create(t.Context(), now, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		return len(now.Status.Conditions) == 0
	})
	serve(false)
	tow := start(t)
	sets := []appSet{applicationSet(t), applicationSet(t), applicationSet(t)}
	var apps []*argocd.Application
	for _, set := range sets {
		app := set.application(cluster(t), "a").Obj()
		create(t, app)
		apps = append(apps, app)
		report(t, app, feedbackOf(app).Healthy("a"))
		set.expect(t, healths("Healthy"))
	}
	w := NewWithT(t)
	conditions := func(set appSet) func() int { return func() int { return len(set.report(t).Status.Conditions) } }
	for i := range 2 {
		for _, set := range sets {
			w.Eventually(conditions(set), soon, tick).Should(BeNumerically(">", 0))
		}
		settled(t)
		for _, set := range sets {
			tow.writes.takeReports(http.MethodPut, set.Namespace)
			tow.writes.takeReports(http.MethodGet, set.Namespace)
		}
		serve(true)
		for _, set := range sets {
			looked := func() []string { return tow.writes.takeReports(http.MethodGet, set.Namespace) }
			w.Eventually(looked, soon, tick).ShouldNot(BeEmpty(), "nobody looks what the hub keeps")
		}
		settled(t)
		if i == 0 {
			w.Eventually(func() int { return narrowEvents(t, sets) }, soon, tick).Should(Equal(1))
		}
		for _, set := range sets {
			if made := tow.writes.takeReports(http.MethodPut, set.Namespace); len(made) > 0 {
				t.Errorf("a report that is cut is written: %q", made)
			}
		}
		for j, set := range sets { // from now on the hub's etcd has only the cut reports
			health := []string{"Degraded", "Healthy"}[i]
			report(t, apps[j], feedbackOf(apps[j]).String("healthStatus", health).String("syncStatus", "Synced"))
			set.expect(t, healths(health))
			settled(t)
			if made := tow.writes.takeReports(http.MethodPut, set.Namespace); len(made) != 1 {
				t.Errorf("a change took the writes %q", made)
			}
		}
		serve(false)
		for _, set := range sets {
			w.Eventually(conditions(set), soon, tick).Should(BeNumerically(">", 0))
			settled(t)
			if made := tow.writes.takeReports(http.MethodPut, set.Namespace); len(made) != 1 {
				t.Errorf("a report that was cut took the writes %q", made)
			}
		}
	}
}
