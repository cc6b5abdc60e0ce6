package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestFormerSpecs: the last specs before a change are known, until the Application moves or ends.
func TestFormerSpecs(t *testing.T) {
	app := func(cluster, spec string) *argocd.Application {
		return fixture.Application("web").UID("1").Cluster(cluster).Spec(spec).Obj()
	}
	type change struct{ before, after *argocd.Application }
	to := func(specs ...string) (out []change) {
		for i := range len(specs) - 1 {
			out = append(out, change{app("a", specs[i]), app("a", specs[i+1])})
		}
		return out
	}
	large := `"` + strings.Repeat("x", maxFormerSpec) + `"`
	for title, tc := range map[string]struct {
		changes []change
		want    []string
	}{
		"no change of the spec":    {to("1", "1"), nil},
		"a change":                 {to("1", "2"), []string{"1"}},
		"a change and its removal": {to("1", "2", "1"), []string{"1", "2"}},
		"more changes":             {to("1", "2", "2", "3", "4"), []string{"2", "3"}},
		"a large spec":             {to("1", large, "2"), []string{"1"}},
		"a move":                   {append(to("1", "2"), change{app("a", "2"), app("b", "3")}), nil},
		"a change after a move":    {append(to("1", "2"), change{app("a", "2"), app("b", "2")}, change{app("b", "2"), app("b", "3")}), []string{"2"}},
	} {
		t.Run(title, func(t *testing.T) {
			f := newFormerSpecs()
			changes := f.changes()
			for i, c := range tc.changes {
				c.before.ResourceVersion, c.after.ResourceVersion = fmt.Sprint(i), fmt.Sprint(i+1)
				if !changes.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}) {
					t.Error("the change starts no reconcile")
				}
			}
			var got []string
			for _, spec := range f.of("1") {
				got = append(got, string(spec))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("known are %q, want %q", got, tc.want)
			}
			if changes.Delete(event.DeleteEvent{Object: app("a", "1")}); len(f.of("1")) > 0 {
				t.Error("the specs outlast the Application")
			}
		})
	}
}

// TestFormerSpecsAreBounded: the Applications with the oldest changes are forgotten.
func TestFormerSpecsAreBounded(t *testing.T) {
	f := newFormerSpecs()
	for i := range maxChanged + 1 {
		before := fixture.Application("web").UID(types.UID(fmt.Sprint(i))).Cluster("a").Spec("1").Obj()
		after := before.DeepCopy()
		after.Spec.Raw = []byte("2")
		f.note(before, after)
	}
	if len(f.of("0")) > 0 || len(f.of("1")) != 1 {
		t.Errorf("known are %q and %q", f.of("0"), f.of("1"))
	}
}
