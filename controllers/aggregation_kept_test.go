package controllers_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// keptReport puts a report into Git, as far as the hub can see: an Argo CD has made it, and it says nothing yet.
func (s appSet) keptReport(t *testing.T) *v1alpha1.MulticlusterApplicationSetReport {
	t.Helper()
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	r.Namespace, r.Name, r.Annotations = s.Namespace, s.Name, map[string]string{
		apis.AnnotationKeepReport: "true", "argocd.argoproj.io/tracking-id": "region1",
	}
	create(t, r)
	return r
}

// generated has the ApplicationSet say what its controller says when it has made all Applications.
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

// clusters waits until the report counts so many clusters, and is still the one that Argo CD made.
func (s appSet) clusters(t *testing.T, want string, kept *v1alpha1.MulticlusterApplicationSetReport) {
	t.Helper()
	s.expect(t, func(g Gomega, r *v1alpha1.MulticlusterApplicationSetReport) {
		g.Expect(r.Statuses.Summary.Clusters).To(Equal(want))
		g.Expect(r.UID).To(Equal(kept.UID), "the report was deleted")
		g.Expect(r.Annotations).To(Equal(kept.Annotations))
	})
}

// TestReportInGit: it is filled, stays when its ApplicationSet has no Applications any more, and says that.
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

// TestReportInGitOfANewApplicationSet: that its Applications have not been made yet is not taken for having none.
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
