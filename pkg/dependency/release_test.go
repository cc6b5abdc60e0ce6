package dependency_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
)

// TestReleasedToTooManyToName checks a release to too many Applications. The annotations of an object are limited,
// and a work that is too large to write would protect no Application.
func TestReleasedToTooManyToName(t *testing.T) {
	w := &workv1.ManifestWork{}
	few := []types.NamespacedName{{Namespace: "argocd", Name: "a"}, {Namespace: "argocd", Name: "b"}}
	dependency.Release(w, few)
	if !slices.Equal(dependency.ReleasedTo(w), few) || dependency.IsReleasedTo(w, types.NamespacedName{Namespace: "argocd", Name: "c"}) {
		t.Errorf("left to %s", w.Annotations)
	}
	many := slices.Clone(few)
	for i := range 5000 {
		many = append(many, types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("application-of-some-team-%d", i)})
	}
	dependency.Release(w, many)
	dependency.Release(w, append(dependency.ReleasedTo(w), few...)) // a second release keeps the list
	if text := w.Annotations[apis.AnnotationReleasedTo]; len(text) > 64<<10 {
		t.Errorf("%d bytes", len(text))
	}
	for _, app := range many {
		if !dependency.IsReleasedTo(w, app) {
			t.Fatalf("not left to %s", app)
		}
	}
}
