package dependencies

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// TestLeftInAnyOrder: an Application that has a work again is not left, wherever in the list its old one is.
func TestLeftInAnyOrder(t *testing.T) {
	rendered := func(name, uid string) *workv1.ManifestWork {
		w, err := work.Render(fixture.Application(name).UID(types.UID(uid)).Obj(), work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	released := func(name string) *workv1.ManifestWork {
		w, err := work.Release(rendered(name, "00000"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	users := func(w *workv1.ManifestWork) (out []types.NamespacedName) {
		for _, app := range carriedBy(w) {
			out = append(out, app.key)
		}
		return out
	}
	works := []workv1.ManifestWork{*released("again"), *rendered("again", "11111"), *released("gone")}
	for range 2 {
		if left := leftIn(works, users(&works[1]), users); !slices.Equal(left, users(released("gone"))) {
			t.Errorf("left to %s", left)
		}
		slices.Reverse(works)
	}
}
