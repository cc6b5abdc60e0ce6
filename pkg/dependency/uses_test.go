package dependency

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestReleasedInAnyOrder: what an Application uses that has a work again is not released to it, wherever in the list its old
// work is.
func TestReleasedInAnyOrder(t *testing.T) {
	again := webApp().UID("11111111").Obj()
	works := []*workv1.ManifestWork{releasedWork(webApp().Obj()), workOf(again), releasedWork(oldApp())}
	for range 2 {
		s := ofCredential(there(), carrying(works...))
		if got := s.releasedTo(); !slices.Equal(got, []types.NamespacedName{{Namespace: "argocd", Name: "old"}}) {
			t.Errorf("released to %s", got)
		}
		slices.Reverse(works)
	}
}
