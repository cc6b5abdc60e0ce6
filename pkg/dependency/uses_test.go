package dependency

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestReleasedInAnyOrder checks that an Application with a new work is not in the list of released Applications. The
// position of its old work in the list does not matter.
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
