package bundle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestSameShape(t *testing.T) {
	one, two := manifest("one", "x"), manifest("two", "x")
	secret := workv1.Manifest{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one","namespace":"default"}}`),
	}}
	for name, tc := range map[string]struct {
		a, b []workv1.Manifest
		want bool
	}{
		"other content":          {[]workv1.Manifest{one, two}, []workv1.Manifest{manifest("one", "y"), two}, true},
		"an additional manifest": {[]workv1.Manifest{one}, []workv1.Manifest{one, two}, false},
		"a removed manifest":     {[]workv1.Manifest{one, two}, []workv1.Manifest{two}, false},
		"a new order":            {[]workv1.Manifest{one, two}, []workv1.Manifest{two, one}, false},
		"a new name":             {[]workv1.Manifest{one}, []workv1.Manifest{two}, false},
		"a new kind":             {[]workv1.Manifest{one}, []workv1.Manifest{secret}, false},
		"no manifests":           {nil, nil, true},
	} {
		if got := SameShape(&aWork(tc.a...).Spec, &aWork(tc.b...).Spec); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestFollow: an earlier bundle takes the later bundle's manifests for the shared objects, and keeps the remaining
// manifests and their configs.
func TestFollow(t *testing.T) {
	earlier := &Bundle{Work: aWork(manifest("one", "old"), manifest("two", "old")), First: 1}
	later := &Bundle{Work: aWork(manifest("three", "new"), manifest("one", "new")), First: 1, Shape: 1}
	later.Work.Spec.ManifestConfigs[0].FeedbackScrapeType = workv1.FeedbackPollType
	alone := workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: "two"},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply},
	}
	earlier.Work.Spec.ManifestConfigs = append(earlier.Work.Spec.ManifestConfigs, alone)
	unchanged := earlier.Work.DeepCopy()
	got, changed := earlier.Follow(later)
	want := aWork(manifest("one", "new"), manifest("two", "old"))
	want.Spec.ManifestConfigs = append(slices.Clone(later.Work.Spec.ManifestConfigs), alone)
	if diff := cmp.Diff(want.Spec, got.Work.Spec); diff != "" || !changed {
		t.Errorf("changed %t (-want +got):\n%s", changed, diff)
	}
	if diff := cmp.Diff(unchanged, earlier.Work); diff != "" {
		t.Errorf("the earlier one was changed (-want +got):\n%s", diff)
	}
	if _, again := got.Follow(later); again {
		t.Error("there is nothing more to change")
	}
	if !later.After(earlier) || earlier.After(later) || later.After(later) {
		t.Error("the order is wrong")
	}
	if successor := (&Bundle{Work: aWork(), First: 2}); !successor.After(later) {
		t.Error("a work of the same name comes after all bundles of the one before")
	}
}

// TestOrphaning: the objects orphaned by an earlier bundle stay on the cluster after the end of the bundle, for any
// delete option of the later bundle.
func TestOrphaning(t *testing.T) {
	rule := func(name string) workv1.OrphaningRule {
		return workv1.OrphaningRule{Resource: "namespaces", Name: name}
	}
	some := func(names ...string) *workv1.DeleteOption {
		o := &workv1.DeleteOption{
			PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan, SelectivelyOrphan: &workv1.SelectivelyOrphan{},
		}
		for _, name := range names {
			o.SelectivelyOrphan.OrphaningRules = append(o.SelectivelyOrphan.OrphaningRules, rule(name))
		}
		return o
	}
	orphan := &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	foreground := &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	for name, tc := range map[string]struct{ earlier, later, want *workv1.DeleteOption }{
		"neither leaves anything":           {nil, foreground, foreground},
		"the earlier leaves some":           {some("argocd"), nil, some("argocd")},
		"the earlier leaves some, later":    {some("argocd"), foreground, some("argocd")},
		"the later leaves some":             {foreground, some("argocd"), some("argocd")},
		"each leaves some":                  {some("argocd", "both"), some("both", "web"), some("both", "web", "argocd")},
		"the earlier leaves all":            {orphan, foreground, orphan},
		"the later leaves all":              {some("argocd"), orphan, orphan},
		"nothing is said, as it is by both": {nil, nil, nil},
	} {
		earlier := &Bundle{Work: aWork(manifest("one", "x"), manifest("two", "x"))}
		later := &Bundle{Work: aWork(manifest("one", "x")), Shape: 1}
		earlier.Work.Spec.DeleteOption, later.Work.Spec.DeleteOption = tc.earlier, tc.later
		got, _ := earlier.Follow(later)
		if diff := cmp.Diff(tc.want, got.Work.Spec.DeleteOption); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, again := got.Follow(later); again {
			t.Errorf("%s: there is nothing more to change", name)
		}
	}
}
