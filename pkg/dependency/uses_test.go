package dependency

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
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

// TestAhead checks which works go ahead of a work.
func TestAhead(t *testing.T) {
	plain := func(b *fixture.ApplicationBuilder) *fixture.ApplicationBuilder { return b }
	beside := func(b *fixture.ApplicationBuilder) *fixture.ApplicationBuilder {
		return b.Annotation(apis.AnnotationAppNamespace, "apps")
	}
	all := Options{ClusterNamespace: "argocd", Projects: true, Namespaces: true}
	for title, tc := range map[string]struct {
		options Options
		app     func(*fixture.ApplicationBuilder) *fixture.ApplicationBuilder
		want    []string
	}{
		"an AppProject":    {all, plain, []string{"web.project.towline"}},
		"a namespace, too": {all, beside, []string{"web.project.towline", "apps.namespace.towline"}},
		"nothing travels":  {Options{ClusterNamespace: "argocd"}, beside, nil},
		"the AppProject default": {all, func(b *fixture.ApplicationBuilder) *fixture.ApplicationBuilder {
			return b.Spec(`{"project":"default"}`)
		}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			var got []string
			for _, key := range tc.options.Ahead(workOf(tc.app(webApp()).Obj())) {
				got = append(got, key.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
