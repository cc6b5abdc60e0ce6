package envtest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/towline-io/towline/pkg/apis"
)

// removeReportsCRD deletes the CRD of reports, as the product that installed the CRD would, and returns the UID of the
// deleted CRD.
func removeReportsCRD(t *testing.T) types.UID {
	t.Helper()
	unshared(t)
	crd := reportsCRD(t)
	if crd == nil {
		t.Fatal("the hub has no CRD of reports")
	}
	if err := k8s.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() bool { now := reportsCRD(t); return now == nil || now.UID != crd.UID }, soon, tick).Should(BeTrue())
	return crd.UID
}

// reportsCRD returns the CRD of reports, or nil if the hub has none.
func reportsCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "multiclusterapplicationsetreports." + apis.Group}}
	err := k8s.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// expectReportsCRD waits until the hub serves a new CRD of reports.
func expectReportsCRD(t *testing.T, before types.UID) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		crd := reportsCRD(t)
		return crd != nil && crd.UID != before && len(crd.Status.StoredVersions) > 0
	}, soon, tick).Should(BeTrue(), "nobody brings the CRD")
}

// TestAggregationWhoseCRDIsRemoved: Towline creates its own CRD of reports, and writes all reports again. Towline
// delivers Applications meanwhile.
func TestAggregationWhoseCRDIsRemoved(t *testing.T) {
	unshared(t)
	start(t)
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	set.expect(t, healths("Healthy"))

	before := removeReportsCRD(t)
	other := application(t, cluster(t)).Obj()
	create(t, other)
	report(t, other, feedbackOf(other).String("healthStatus", "Degraded"))
	expectHealth(t, other, "Degraded")

	expectReportsCRD(t, before)
	set.expect(t, healths("Healthy"))
	report(t, app, feedbackOf(app).String("healthStatus", "Degraded").String("syncStatus", "Synced"))
	set.expect(t, healths("Degraded"))
}

// TestHubWithoutTheCRDOfReports: Towline starts, delivers, creates the CRD and begins with reports.
func TestHubWithoutTheCRDOfReports(t *testing.T) {
	before := removeReportsCRD(t)
	startWith(t, func(meta.RESTMapper) meta.RESTMapper {
		over, err := rest.HTTPClientFor(hub)
		if err != nil {
			t.Fatal(err)
		}
		live, err := apiutil.NewDynamicRESTMapper(hub, over)
		if err != nil {
			t.Fatal(err)
		}
		return live
	})
	set := applicationSet(t)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
	expectReportsCRD(t, before)
	set.expect(t, healths("Healthy"))
}
