package work_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// sentWith returns the work of an Application with the given spec, seen by the agent.
func sentWith(t *testing.T, spec string) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(fixture.Application("guestbook").Cluster("cluster1").Finalizers(apis.FinalizerResources).Spec(spec).Obj(), work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	w.Finalizers = []string{workv1.ManifestWorkFinalizer}
	return w
}

func TestFreeze(t *testing.T) {
	const server = `"destination":{"server":"https://kubernetes.default.svc"}`
	for title, tc := range map[string]struct {
		spec, want string
		same       bool
	}{
		"automated": {spec: `{"destination":{},"syncPolicy":{"automated":{"prune":true,"selfHeal":true},"retry":{"limit":2}},"unknown":1}`,
			want: `{` + server + `,"syncPolicy":{"retry":{"limit":2}},"unknown":1}`},
		"automated alone": {spec: `{"destination":{},"syncPolicy":{"automated":{}}}`, want: `{` + server + `}`},
		"hydrated": {
			spec: `{"destination":{},"sourceHydrator":{"drySource":{"path":"dry","repoURL":"r","targetRevision":"main"},` +
				`"hydrateTo":{"targetBranch":"next"},"syncSource":{"path":"wet","targetBranch":"env"}}}`,
			want: `{` + server + `,"source":{"path":"wet","repoURL":"r","targetRevision":"env"}}`},
		"hydrated to another repository": {
			spec: `{"destination":{},"sourceHydrator":{"drySource":{"repoURL":"r"},"syncSource":{"path":"wet","repoURL":"w","targetBranch":"env"}}}`,
			want: `{` + server + `,"source":{"path":"wet","repoURL":"w","targetRevision":"env"}}`},
		"by hand": {spec: `{"destination":{},"syncPolicy":{"retry":{"limit":2}}}`, same: true},
		"off":     {spec: `{"destination":{},"syncPolicy":{"automated":{"enabled":false}}}`, same: true},
		"odd":     {spec: `{"destination":{},"sourceHydrator":{"drySource":7}}`, same: true},
	} {
		t.Run(title, func(t *testing.T) {
			before := sentWith(t, tc.spec)
			kept := before.DeepCopy()
			after, changed := work.Freeze(before)
			if diff := cmp.Diff(kept, before); diff != "" {
				t.Errorf("it changes its argument (-want +got):\n%s", diff)
			}
			if changed == tc.same || work.Frozen(after) == tc.same {
				t.Fatalf("changed: %v, frozen: %v", changed, work.Frozen(after))
			}
			if tc.same {
				return
			}
			held, _ := work.Carried(after)
			if diff := cmp.Diff(tc.want, string(held.Spec.Raw)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if held.Annotations[apis.AnnotationWork] != before.Name || len(held.Finalizers) != 1 || held.Name != "guestbook" {
				t.Errorf("other metadata changed: %v", held.ObjectMeta)
			}
			if again, changed := work.Freeze(after); changed || again != after || work.RunsByItself(after) {
				t.Error("a frozen work changes again")
			}
		})
	}
}

// TestFreezeKeepsForeignApplications: Freeze does not change a work with the mode ReadOnly or CreateOnly. A work with
// the mode Apply gets the mode ForceApply only after a successful apply.
func TestFreezeKeepsForeignApplications(t *testing.T) {
	const spec = `{"destination":{},"syncPolicy":{"automated":{}}}`
	for _, mode := range []work.UpdateMode{work.ReadOnly, work.CreateOnly} {
		w := sentWith(t, spec)
		work.SetUpdateMode(w, mode)
		if _, changed := work.Freeze(w); changed {
			t.Errorf("mode %d: it changes", mode)
		}
	}
	for applied, want := range map[metav1.ConditionStatus]work.UpdateMode{metav1.ConditionTrue: work.ForceApply, "": work.Apply} {
		w := sentWith(t, spec)
		work.SetUpdateMode(w, work.Apply)
		if applied != "" {
			w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: applied, ObservedGeneration: w.Generation}}
		}
		out, changed := work.Freeze(w)
		if !changed || work.UpdateModeOf(out) != want {
			t.Errorf("applied %q: changed %v, mode %d", applied, changed, work.UpdateModeOf(out))
		}
	}
}

// TestTheMarkOfAFreezeDoesNotTravel: the author of an Application cannot fake a freeze with AnnotationFrozen.
func TestTheMarkOfAFreezeDoesNotTravel(t *testing.T) {
	app := fixture.Application("guestbook").Cluster("cluster1").Annotation(apis.AnnotationFrozen, "true").Obj()
	w, err := work.Render(app, work.Requests{})
	if err != nil || work.Frozen(w) {
		t.Errorf("frozen: %v, %v", work.Frozen(w), err)
	}
}

// TestThawed: Update restores the Application from the hub after a freeze, and removes AnnotationFrozen.
func TestThawed(t *testing.T) {
	desired := sentWith(t, `{"destination":{},"syncPolicy":{"automated":{}}}`)
	frozen, _ := work.Freeze(desired)
	thawed, changed := work.Update(frozen, desired)
	if !changed || work.Frozen(thawed) || !json.Valid(thawed.Spec.Workload.Manifests[0].Raw) {
		t.Errorf("changed %v, frozen %v", changed, work.Frozen(thawed))
	}
}
