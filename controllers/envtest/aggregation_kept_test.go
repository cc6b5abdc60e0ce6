package envtest_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// keptReport creates an empty report with the marks of a report in Git that an Argo CD has applied.
func (s appSet) keptReport(t *testing.T) *v1alpha1.MulticlusterApplicationSetReport {
	t.Helper()
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	r.Namespace, r.Name, r.Annotations = s.Namespace, s.Name, map[string]string{
		apis.AnnotationKeepReport: "true", "argocd.argoproj.io/tracking-id": "region1",
	}
	create(t, r)
	return r
}

// generated sets the condition by which the ApplicationSet controller confirms that all Applications exist.
func (s appSet) generated(t *testing.T) {
	t.Helper()
	set := get(t, setObject(s.Namespace, s.Name))
	before := set.DeepCopy()
	condition := map[string]any{
		"type": "ResourcesUpToDate", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
	}
	if err := unstructured.SetNestedSlice(set.Object, []any{condition}, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Status().Patch(t.Context(), set, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// clusters waits until the report counts the wanted number of clusters, and checks that the report is still the object
// from Argo CD.
func (s appSet) clusters(t *testing.T, want string, kept *v1alpha1.MulticlusterApplicationSetReport) {
	t.Helper()
	s.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Clusters).To(Equal(want))
		g.Expect(r.UID).To(Equal(kept.UID), "the report was deleted")
		g.Expect(r.Annotations).To(Equal(kept.Annotations))
	})
}

// TestReportInGit: Towline fills a report from Git. The report stays when its ApplicationSet has no Applications any
// more, and then counts 0 clusters.
func TestReportInGit(t *testing.T) {
	start(t)
	set := applicationSet(t)
	set.generated(t)
	kept := set.keptReport(t)
	set.clusters(t, "0", kept)
	app := set.application(cluster(t), "a").Obj()
	create(t, app)
	set.clusters(t, "1", kept)
	if err := k8s.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	set.clusters(t, "0", kept)
}

// TestReportInGitOfANewApplicationSet: before the ApplicationSet has generated its Applications, the report must not
// say 0 clusters.
func TestReportInGitOfANewApplicationSet(t *testing.T) {
	towline := start(t)
	set := applicationSet(t)
	kept := set.keptReport(t)
	aggregated(t)
	if n := len(towline.writes.takeReports(http.MethodPut, set.Namespace)); n > 0 {
		t.Errorf("%d writes before the ApplicationSet was generated", n)
	}
	set.generated(t)
	set.clusters(t, "0", kept)
}
