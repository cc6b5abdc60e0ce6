package bundle

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const source = "towline"

var ids = NewIDs(source, []byte("a key of tests"))

var (
	created = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	key     = types.NamespacedName{Namespace: "cluster1", Name: "guestbook-1a2b3"}
)

// manifest returns the manifest of a ConfigMap.
func manifest(name, data string) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"default"},"data":{"word":"` + data + `"}}`),
	}}
}

// aWork returns a work. The work also has fields unknown to Maestro's types.
func aWork(manifests ...workv1.Manifest) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, UID: "0b5e", Generation: 1, CreationTimestamp: created,
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{workv1.ManifestWorkFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "77"}},
		},
		Spec: workv1.ManifestWorkSpec{
			Workload:     workv1.ManifestsTemplate{Manifests: manifests},
			DeleteOption: &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan},
			ManifestConfigs: []workv1.ManifestConfigOption{{
				ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: "one"},
				FeedbackScrapeType: workv1.FeedbackWatchType,
			}},
		},
	}
}

// kept returns the bundle in the format of Maestro's REST API, as stored from an event. The metadata are complete, and
// the options have only the fields of Maestro's older types.
func kept(t *testing.T, b *Bundle, change func(map[string]any)) []byte {
	t.Helper()
	event, err := Event(source, cetypes.CreateRequestAction, b)
	if err != nil {
		t.Fatal(err)
	}
	var data payload.ManifestBundle
	if err := json.Unmarshal(event.Data(), &data); err != nil {
		t.Fatal(err)
	}
	var meta map[string]any
	if err := json.Unmarshal([]byte(event.Extensions()[cetypes.ExtensionWorkMeta].(string)), &meta); err != nil {
		t.Fatal(err)
	}
	meta["creationTimestamp"] = "2026-03-01T12:00:07Z"
	answer := map[string]any{
		"id": event.Extensions()[cetypes.ExtensionResourceID], "consumer_name": event.Extensions()[cetypes.ExtensionClusterName],
		"version": b.Version, "created_at": "2026-03-01T12:00:00.123Z", "metadata": meta, "manifests": data.Manifests,
		"manifest_configs": []any{map[string]any{"resourceIdentifier": map[string]any{"resource": "configmaps"}}}, "delete_option": map[string]any{},
	}
	if change != nil {
		change(answer)
	}
	out, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRoundTrip: a bundle read from Maestro equals the written bundle, for the first bundle of a work and for a later
// bundle.
func TestRoundTrip(t *testing.T) {
	for name, shape := range map[string]int{"first": 0, "later": 3} {
		t.Run(name, func(t *testing.T) {
			b := &Bundle{Work: aWork(manifest("one", "x")), ID: ids.Of(key, shape), First: 5000, Version: 5002, Since: 5001, Written: 5002, Shape: shape}
			b.Work.Generation = 2
			got, err := Read(kept(t, b, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b, got, cmp.AllowUnexported(Bundle{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEachBundleHasItsNameOnTheCluster: a later bundle has a separate name on the cluster, and the options in the event
// are complete. An update has the version before the write.
func TestEachBundleHasItsNameOnTheCluster(t *testing.T) {
	for shape, want := range map[int]string{0: key.Name, 1: PublicName(source, key, 1)} {
		event, err := Event(source, cetypes.UpdateRequestAction, &Bundle{Work: aWork(manifest("one", "x")), First: 1, Version: 10, Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.ObjectMeta
		if err := json.Unmarshal([]byte(event.Extensions()[cetypes.ExtensionWorkMeta].(string)), &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Name != want || meta.UID != "0b5e" {
			t.Errorf("shape %d: name %q, UID %q", shape, meta.Name, meta.UID)
		}
		if version := event.Extensions()[cetypes.ExtensionResourceVersion]; version != int32(9) {
			t.Errorf("version %v", version)
		}
		if !strings.Contains(string(event.Data()), `"feedbackScrapeType":"Watch"`) {
			t.Errorf("%s", event.Data())
		}
	}
}

func TestADeletionHasNoManifests(t *testing.T) {
	event, err := Event(source, cetypes.DeleteRequestAction, New(ids, aWork(manifest("one", "x")), created.Time))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(event.Data()), "ConfigMap") || event.Extensions()[cetypes.ExtensionDeletionTimestamp] == nil {
		t.Errorf("%s", event)
	}
}

// TestNext: a new spec begins a new generation, and new objects begin a new bundle.
func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		change                   func(*workv1.ManifestWork)
		generation, since, shape int64
	}{
		"labels":      {func(w *workv1.ManifestWork) { w.Labels = nil }, 1, 5000, 0},
		"annotations": {func(w *workv1.ManifestWork) { w.Annotations = nil }, 1, 5000, 0},
		"owners":      {func(w *workv1.ManifestWork) { w.OwnerReferences = nil }, 1, 5000, 0},
		"options":     {func(w *workv1.ManifestWork) { w.Spec.DeleteOption = nil }, 2, 5003, 0},
		"a manifest":  {func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0] = manifest("one", "y") }, 2, 5003, 0},
		"keys in another order": {func(w *workv1.ManifestWork) {
			w.Spec.Workload.Manifests[0].Raw = []byte(`{"metadata":{"namespace":"default","name":"one"},` +
				`"kind":"ConfigMap","apiVersion":"v1","data":{"word":"x"}}`)
		}, 1, 5000, 0},
		"another object": {func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0] = manifest("two", "x") }, 2, 5003, 1},
	} {
		b := &Bundle{Work: aWork(manifest("one", "x")), First: 5000, Version: 5002, Since: 5000, Written: 5002, Sequence: "7"}
		w := b.Work.DeepCopy()
		tc.change(w)
		next, err := b.Next(ids, w)
		if err != nil {
			t.Fatal(err)
		}
		if w.Generation != tc.generation || next.Since != tc.since || next.Version != 5003 || next.Written != 5003 || next.Shape != int(tc.shape) {
			t.Errorf("%s: generation %d, %+v", name, w.Generation, next)
		}
		if (next.Sequence == "") != (next.Shape > 0) || b.Version != 5002 || b.Work.Generation != 1 {
			t.Errorf("%s: %+v after %+v", name, next, b)
		}
	}
}

// TestAgainChangesALabel: Again changes a label, because agents apply a bundle with a known spec only if the labels
// differ.
func TestAgainChangesALabel(t *testing.T) {
	b := New(ids, aWork(manifest("one", "x")), time.Now())
	again := b.Reapplied()
	label := func(b *Bundle) string {
		text, err := b.metadata("towline")
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.ObjectMeta
		if err := json.Unmarshal([]byte(text), &meta); err != nil {
			t.Fatal(err)
		}
		return meta.Labels[Label]
	}
	if label(b) == label(again) || again.Work.Generation != b.Work.Generation || again.Version != b.Version+1 {
		t.Errorf("label %s after %s, generation %d, version %d", label(again), label(b), again.Work.Generation, again.Version)
	}
}

func TestFirstVersion(t *testing.T) {
	for at, want := range map[string]int64{"2025-01-01T00:01:00Z": 60, "1999-01-01T00:00:00Z": 1, "2092-12-31T23:59:59Z": 2145916799} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		got := FirstVersion(now)
		if got != want || got > 1<<31-1 {
			t.Errorf("%s: %d, want %d", at, got, want)
		}
	}
}

func TestNewer(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"later":                      {"12", "9", true},
		"equal":                      {"9", "9", false},
		"earlier":                    {"9", "12", false},
		"the first version":          {"1", "", true},
		"no number":                  {"x", "", false},
		"no version after a version": {"", "3", false},
	} {
		if got := Newer(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
