package migrate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// makeWork returns a work of cluster c1 with a single manifest and the given changes.
func makeWork(name string, changes ...func(*workv1.ManifestWork)) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: name, UID: "uid", Generation: 3}}
	manifest(`{"kind": "ConfigMap", "data": {"a": "1"}}`)(w)
	for _, change := range changes {
		change(w)
	}
	return w
}

func manifest(raw string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	}
}

func deleting(w *workv1.ManifestWork) {
	w.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
}

func labelled(w *workv1.ManifestWork) { w.Labels = map[string]string{"a": "b"} }

func orphaning(w *workv1.ManifestWork) {
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
}

func applied(status metav1.ConditionStatus, generation int64) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: status, ObservedGeneration: generation}}
	}
}

func TestPlan(t *testing.T) {
	const decide = ": the work is only there: --prune removes what has been deleted since the last copy"
	one := func(w *workv1.ManifestWork) []*workv1.ManifestWork { return []*workv1.ManifestWork{w} }
	for name, tc := range map[string]struct {
		from, to []*workv1.ManifestWork
		prune    bool
		want     string
	}{
		"no works":                     {},
		"a work that is not there yet": {from: one(makeWork("a")), want: "create c1/a"},
		"the same":                     {from: one(makeWork("a")), to: one(makeWork("a")), want: "keep c1/a"},
		"the same, with keys in another order": {
			from: one(makeWork("a")), to: one(makeWork("a", manifest(`{"data":{"a":"1"},"kind":"ConfigMap"}`))), want: "keep c1/a",
		},
		"another status and version": {
			from: one(makeWork("a", applied("True", 3))), to: one(makeWork("a", func(w *workv1.ManifestWork) { w.Generation = 1 })),
			want: "keep c1/a",
		},
		"another manifest":      {from: one(makeWork("a", manifest(`{"kind":"ConfigMap"}`))), to: one(makeWork("a")), want: "update c1/a"},
		"another label":         {from: one(makeWork("a", labelled)), to: one(makeWork("a")), want: "update c1/a"},
		"another way to delete": {from: one(makeWork("a", orphaning)), to: one(makeWork("a")), want: "update c1/a"},
		"being deleted": {
			from: one(makeWork("a", deleting)), to: one(makeWork("a")),
			want: "wait c1/a: the work is being deleted, and its cluster's agent has not confirmed that yet",
		},
		"being deleted there": {
			from: one(makeWork("a")), to: one(makeWork("a", deleting)),
			want: "wait c1/a: an earlier work of this name is still being deleted there",
		},
		"only there":                {to: one(makeWork("a")), want: "wait c1/a" + decide},
		"only there, to be removed": {to: one(makeWork("a")), prune: true, want: "remove c1/a"},
		"only there, and going":     {to: one(makeWork("a", deleting)), prune: true, want: "keep c1/a"},
		"several, in order of names": {
			from: []*workv1.ManifestWork{makeWork("b"), makeWork("a")}, to: one(makeWork("c")),
			want: "create c1/a, create c1/b, wait c1/c" + decide,
		},
		"two clusters with one name": {
			from: []*workv1.ManifestWork{makeWork("a", func(w *workv1.ManifestWork) { w.Namespace = "c2" }), makeWork("a")}, to: one(makeWork("a")),
			want: "keep c1/a, create c2/a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(Plan(tc.from, tc.to, tc.prune)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func text(steps []Step) string {
	var out []string
	for _, s := range steps {
		line := fmt.Sprintf("%s %s", s.Verb, s.Name())
		if s.Why != "" {
			line += ": " + s.Why
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func TestFetched(t *testing.T) {
	for name, tc := range map[string]struct {
		moved []*workv1.ManifestWork
		want  string
	}{
		"not in Maestro": {want: "wait c1/a: Maestro does not have the work: copy it"},
		"the agent fetches works from the hub": {
			moved: []*workv1.ManifestWork{makeWork("a")},
			want:  "wait c1/a: the cluster's agent has not reported the work to Maestro: the agent still reads works from the hub",
		},
		"the agent has spoken in Maestro":           {moved: []*workv1.ManifestWork{makeWork("a", applied("True", 3))}, want: "remove c1/a"},
		"the agent has met an obstacle, in Maestro": {moved: []*workv1.ManifestWork{makeWork("a", applied("False", 3))}, want: "remove c1/a"},
		"the agent has spoken in Maestro of another work": {
			moved: []*workv1.ManifestWork{makeWork("b", applied("True", 3))},
			want:  "wait c1/a: Maestro does not have the work: copy it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(Fetched([]*workv1.ManifestWork{makeWork("a")}, tc.moved)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestReported(t *testing.T) {
	w := makeWork("a", applied("True", 3))
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{Conditions: []metav1.Condition{{Type: "Applied", ObservedGeneration: 2}}}}
	got := reported(w, 7)
	if g := got.Conditions[0].ObservedGeneration; g != 7 {
		t.Errorf("a condition of the present spec is about version %d of the copy's, which is 7", g)
	}
	if g := got.ResourceStatus.Manifests[0].Conditions[0].ObservedGeneration; g != 6 {
		t.Errorf("a condition of an earlier spec is about version %d, want 6", g)
	}
	if w.Status.Conditions[0].ObservedGeneration != 3 {
		t.Error("the work itself was changed")
	}
}

func TestSuperseded(t *testing.T) {
	record := func(hash, agent, work string) workv1.AppliedManifestWork {
		name := hash + "-" + work + "-" + agent
		return workv1.AppliedManifestWork{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Spec:       workv1.AppliedManifestWorkSpec{HubHash: hash, AgentID: agent, ManifestWorkName: work},
		}
	}
	going := record("new", "me", "c")
	deleted := metav1.Now()
	going.DeletionTimestamp = &deleted
	got := Superseded([]workv1.AppliedManifestWork{
		record("old", "me", "a"), record("new", "me", "a-1"), record("old", "me", "b"), going, record("old", "other", "a"), // of a second hub
	}, "new")
	var names []string
	for _, r := range got.Earlier {
		names = append(names, r.Name)
	}
	if earlier, want := strings.Join(names, ", "), "old-a-me, old-b-me"; earlier != want {
		t.Errorf("earlier records are %s, want %s", earlier, want)
	}
	if !got.Present["new-a-1-me"] || got.Present["new-c-me"] || got.Present["old-a-me"] {
		t.Errorf("present records are %v", got.Present)
	}
}

func TestDestroys(t *testing.T) {
	for name, tc := range map[string]struct {
		owners []string
		want   bool
	}{
		"no owner":                            {},
		"a foreign owner":                     {owners: []string{"x"}},
		"the record alone":                    {owners: []string{"old"}, want: true},
		"the record and a foreign owner":      {owners: []string{"old", "x"}, want: true},
		"the record and a present record":     {owners: []string{"old", "new"}},
		"only a present record":               {owners: []string{"new"}},
		"the record and a record in deletion": {owners: []string{"old", "going"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var owners []metav1.OwnerReference
			for _, uid := range tc.owners {
				owners = append(owners, metav1.OwnerReference{UID: types.UID(uid)})
			}
			if got := destroys(owners, "old", map[types.UID]bool{"new": true, "going": false}); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestHash(t *testing.T) {
	const want = "fcd7d13d4f315dd906c6e0a93484b0aceab03ac692206c6f89a692d5ac7f0940" // printf mqtt.example.com:1883 | sha256sum
	if got := Hash("mqtt.example.com:1883"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
