package placement_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/placement"
)

func TestDecide(t *testing.T) {
	for title, tc := range map[string]struct {
		edit    func(*argocd.Application)
		chosen  []string
		cluster string
		warns   []string
	}{
		"first choice":     {func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationCluster) }, []string{"b"}, "b", nil},
		"same choice":      {nil, []string{"a"}, "", nil},
		"named twice":      {nil, []string{"a", "a"}, "", nil},
		"another choice":   {nil, []string{"b"}, "b", nil},
		"no choice":        {nil, nil, "", []string{"argocd/best has chosen no cluster", "stays on cluster a"}},
		"none, and new":    {func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationCluster) }, nil, "", []string{"has no cluster yet"}},
		"several":          {nil, []string{"c", "b"}, "", []string{"2 clusters (b, c)", "numberOfClusters to 1", "stays on cluster a"}},
		"several with own": {nil, []string{"a", "b"}, "", []string{"stays on cluster a"}},
		"very many":        {nil, []string{"a", "b", "c", "d"}, "", []string{"4 clusters (a, b, c, …)"}},
		"of an ApplicationSet": {func(a *argocd.Application) {
			yes := true
			a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set", Controller: &yes}}
		}, []string{"b"}, "", []string{"ApplicationSet set", "clusterDecisionResource"}},
		"being deleted": {func(a *argocd.Application) { now := metav1.Now(); a.DeletionTimestamp = &now }, []string{"b"}, "", nil},
		"not for pull":  {func(a *argocd.Application) { delete(a.Labels, apis.LabelPull) }, []string{"b"}, "", nil},
		"no annotation": {func(a *argocd.Application) { delete(a.Annotations, apis.AnnotationPlacement) }, []string{"b"}, "", nil},
	} {
		t.Run(title, func(t *testing.T) {
			app := fixture.Application("best").Namespace("argocd").Cluster("a").Annotation(apis.AnnotationPlacement, "best").Obj()
			if tc.edit != nil {
				tc.edit(app)
			}
			got := placement.Decide(app, tc.chosen)
			if got.Cluster != tc.cluster || (got.Warning == "") != (len(tc.warns) == 0) {
				t.Errorf("got %+v", got)
			}
			for _, words := range tc.warns {
				if !strings.Contains(got.Warning, words) {
					t.Errorf("%q does not say %q", got.Warning, words)
				}
			}
		})
	}
}
