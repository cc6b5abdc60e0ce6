package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/steer"
)

func orphan(edit ...func(*workv1.ManifestWork)) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "a-12345", UID: "u", ResourceVersion: "7",
		Annotations: map[string]string{apis.AnnotationOrphanedAt: "2026-01-02T03:04:05Z", apis.AnnotationHubNamespace: "argocd",
			apis.AnnotationHubName: "a"}}}
	for _, e := range edit {
		e(w)
	}
	return w
}

func TestOrphanOf(t *testing.T) {
	want := &steer.Orphan{Cluster: "c1", Work: "a-12345", Application: "argocd/a", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if diff := cmp.Diff(want, steer.OrphanOf(orphan())); diff != "" {
		t.Error(diff)
	}
	if o := steer.OrphanOf(orphan(func(w *workv1.ManifestWork) { delete(w.Annotations, apis.AnnotationOrphanedAt) })); o != nil {
		t.Errorf("got %+v", o)
	}
	if o := steer.OrphanOf(orphan(func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphanedAt] = "odd" })); o == nil || !o.Since.IsZero() {
		t.Errorf("got %+v", o)
	}
}

func TestDecide(t *testing.T) {
	for title, tc := range map[string]struct {
		work  *workv1.ManifestWork
		verb  steer.Verb
		patch string
		says  string
	}{
		"adopt":   {orphan(), steer.Adopt, `/orphaned":"adopt"},"resourceVersion":"7","uid":"u"`, "argocd/a stays on c1"},
		"delete":  {orphan(), steer.Delete, `/orphaned":"delete"`, "argocd/a is removed from c1, and the workload stays"},
		"another": {orphan(func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = "hold" }), steer.Adopt, `"adopt"`, "stays"},
		"in bulk": {orphan(func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = "hold" }), steer.Adopt, "",
			"the earlier decision stays: hold"},
		"again": {orphan(func(w *workv1.ManifestWork) { w.Annotations[apis.AnnotationOrphaned] = "adopt" }), steer.Adopt, "", "decided already"},
		"going": {orphan(func(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{} }), steer.Adopt, "",
			"is going already"},
	} {
		c, refused := steer.Decide(tc.work, tc.verb, title != "in bulk")
		if refused != nil || !strings.Contains(c.Message, tc.says) || !strings.Contains(string(c.Patch), tc.patch) || (tc.patch == "") != (c.Patch == nil) {
			t.Errorf("%s: %v, %+v, %s", title, refused, c, c.Patch)
		}
	}
	_, refused := steer.Decide(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "b"}}, steer.Adopt, true)
	if refused == nil || !strings.Contains(refused.Message, "c1/b is not orphaned") {
		t.Errorf("got %v", refused)
	}
}
