package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// conditions returns conditions of an agent. An agent counts by Maestro's versions.
func conditions(version int64, types ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range types {
		out = append(out, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: version})
	}
	return out
}

// statusEvent returns Maestro's event about a status of a bundle.
func statusEvent(t *testing.T, id, sequence string, version int64, said ...metav1.Condition) *cloudevents.Event {
	t.Helper()
	event := cloudevents.NewEvent()
	event.SetID("1")
	event.SetSource("agent")
	event.SetType(cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: cetypes.SubResourceStatus, Action: cetypes.UpdateRequestAction,
	}.String())
	event.SetExtension(cetypes.ExtensionResourceID, id)
	event.SetExtension(cetypes.ExtensionResourceVersion, version)
	event.SetExtension(cetypes.ExtensionStatusUpdateSequenceID, sequence)
	event.SetExtension(cetypes.ExtensionWorkMeta, `{"name":"guestbook-1a2b3","uid":"0b5e"}`)
	if err := event.SetData(cloudevents.ApplicationJSON, payload.ManifestBundleStatus{Conditions: said}); err != nil {
		t.Fatal(err)
	}
	return &event
}

// TestStatus: the conditions of a work have generations instead of Maestro's versions, for a read bundle and for an
// event.
func TestStatus(t *testing.T) {
	b := &Bundle{Work: aWork(), First: 5000, Version: 5002, Since: 5002, Written: 5002}
	b.Work.Generation = 3
	read, err := Read(kept(t, b, func(answer map[string]any) {
		answer["status"] = map[string]any{
			"SequenceID": "1792842398301163520", "conditions": conditions(5002, workv1.WorkApplied, workv1.WorkAvailable),
			"resourceStatus": []any{map[string]any{"conditions": conditions(5001, workv1.ManifestApplied)}},
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(conditions(3, workv1.WorkApplied, workv1.WorkAvailable), read.Work.Status.Conditions); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if got := read.Work.Status.ResourceStatus.Manifests[0].Conditions[0].ObservedGeneration; got != 2 {
		t.Errorf("the manifest's condition is about generation %d", got)
	}
	if got := read.Work.ManagedFields[0].Time.UTC().Format("2006-01-02T15:04:05"); got != "2024-05-21T08:58:31" {
		t.Errorf("the agent spoke at %s", got)
	}
	if !read.Replaces() {
		t.Error("it is applied, as it is")
	}

	said, err := ReadStatus(statusEvent(t, b.ID, "1792842398301163521", 5003, conditions(4999, workv1.WorkApplied)...))
	if err != nil {
		t.Fatal(err)
	}
	if said.UID != "0b5e" || said.Version != 5003 || said.Deleted {
		t.Errorf("%+v", said)
	}
	told := read.WithStatus(said)
	if diff := cmp.Diff(conditions(0, workv1.WorkApplied), told.Work.Status.Conditions); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if told.Replaces() || !read.Replaces() || told.Sequence != "1792842398301163521" {
		t.Errorf("the one that was read has changed, or the other has not")
	}
}

// TestGenerations: Towline converts the version in an agent's report to the generation of the spec in the version.
func TestGenerations(t *testing.T) {
	b := &Bundle{Work: aWork(), First: 5000, Since: 5004}
	b.Work.Generation = 3
	for name, tc := range map[string]struct{ written, version, said, want int64 }{
		"before the first version":                {5006, 5006, 4999, 0},
		"the first version":                       {5006, 5006, 5000, 1},
		"the last version with the previous spec": {5006, 5006, 5003, 2},
		"the first version with the spec":         {5006, 5006, 5004, 3},
		"a later version with the spec":           {5006, 5006, 5005, 3},
		"the last version":                        {5006, 5006, 5006, 3},
		"raised, and the last known version":      {5006, 6006, 5006, 3},
		"raised, and an unknown version":          {5006, 6006, 5007, 2},
		"raised, and the raised version":          {5006, 6006, 6006, 3},
		"being repeated, with the spec":           {5006, 5001, 5005, 3},
		"being repeated, with an unknown version": {5006, 5001, 5001, 2},
	} {
		b.Written, b.Version = tc.written, tc.version
		said := &Status{Status: workv1.ManifestWorkStatus{Conditions: conditions(tc.said, workv1.WorkApplied)}}
		if got := b.WithStatus(said).Work.Status.Conditions[0].ObservedGeneration; got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestADeletionIsReported(t *testing.T) {
	said, err := ReadStatus(statusEvent(t, "id", "5", 7, conditions(0, common.ResourceDeleted)...))
	if err != nil || !said.Deleted || said.ID != "id" {
		t.Errorf("%+v, %v", said, err)
	}
}

// TestReadRefuses: Read returns an error for an invalid bundle, with the reason.
func TestReadRefuses(t *testing.T) {
	good := New(ids, aWork(), created.Time)
	for want, change := range map[string]func(map[string]any){
		"another program": func(a map[string]any) { a["metadata"] = map[string]any{} },
		"has no cluster":  func(a map[string]any) { delete(a, "consumer_name") },
		"annotation " + Annotation: func(a map[string]any) {
			a["metadata"] = map[string]any{"name": "x", "annotations": map[string]string{Annotation: "no"}}
		},
		"does not go with version": func(a map[string]any) { a["version"] = 3 },
		"manifest_configs": func(a map[string]any) {
			a["metadata"], a["manifest_configs"] = map[string]any{"name": "x"}, "no"
		},
	} {
		if _, err := Read(kept(t, good, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if _, err := Read([]byte("no")); err == nil {
		t.Error("no JSON is an error")
	}
}

// TestABundleOfAForeignProgram: Read decodes a bundle of a foreign program from the fields of Maestro's API.
func TestABundleOfAForeignProgram(t *testing.T) {
	b, err := Read([]byte(`{"id":"x","consumer_name":"c","version":4,"metadata":{"name":"n"},
		"manifest_configs":[{"resourceIdentifier":{"resource":"configmaps"}}],"delete_option":{"propagationPolicy":"Orphan"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if b.Work.Generation != 4 || b.Work.Spec.DeleteOption.PropagationPolicy != "Orphan" || len(b.Work.Spec.ManifestConfigs) != 1 {
		t.Errorf("%+v", b.Work)
	}
}

func TestReadStatusRefuses(t *testing.T) {
	for want, change := range map[string]func(*cloudevents.Event){
		cetypes.ExtensionResourceVersion:        func(e *cloudevents.Event) { e.SetExtension(cetypes.ExtensionResourceVersion, "x") },
		cetypes.ExtensionStatusUpdateSequenceID: func(e *cloudevents.Event) { e.SetExtension(cetypes.ExtensionStatusUpdateSequenceID, nil) },
		cetypes.ExtensionWorkMeta:               func(e *cloudevents.Event) { e.SetExtension(cetypes.ExtensionWorkMeta, "x") },
		"status of work guestbook-1a2b3":        func(e *cloudevents.Event) { e.DataEncoded = []byte("x") },
	} {
		event := statusEvent(t, "id", "5", 7)
		change(event)
		if _, err := ReadStatus(event); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// FuzzRead: for any answer of Maestro, Read returns a writable bundle or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"id":"x","consumer_name":"c","version":4,` +
		`"metadata":{"name":"n","annotations":{"maestro.towline.io/work":` +
		`"{\"first\":2,\"generation\":2,\"since\":3,\"written\":4,\"shape\":1,\"name\":\"m\"}"}},` +
		`"manifests":[{"kind":"A"}],"status":{"SequenceID":"7","conditions":[{"type":"Applied","observedGeneration":3}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(data)
		if err != nil {
			return
		}
		if b.Work.Name == "" || b.Work.Namespace == "" || b.Shape < 0 {
			t.Fatalf("%+v", b)
		}
		if _, err := Event(source, cetypes.UpdateRequestAction, b); err != nil && json.Valid(data) && !strings.Contains(err.Error(), "work") {
			t.Fatal(err)
		}
	})
}

// FuzzReadStatus: for any event of Maestro, ReadStatus returns a status for a bundle, or an error. With does not change
// the status.
func FuzzReadStatus(f *testing.F) {
	f.Add("id", "5", int64(7), `{"name":"x","uid":"y"}`, []byte(`{"conditions":[{"type":"Applied","observedGeneration":3}],"resourceStatus":[{}]}`))
	f.Fuzz(func(t *testing.T, id, sequence string, version int64, meta string, data []byte) {
		event := cloudevents.NewEvent()
		event.SetType("x")
		event.SetExtension(cetypes.ExtensionResourceID, id)
		event.SetExtension(cetypes.ExtensionResourceVersion, version)
		event.SetExtension(cetypes.ExtensionStatusUpdateSequenceID, sequence)
		event.SetExtension(cetypes.ExtensionWorkMeta, meta)
		event.DataEncoded = data
		said, err := ReadStatus(&event)
		if err != nil {
			return
		}
		before := said.Status.DeepCopy()
		b := (&Bundle{Work: aWork(), First: 3}).WithStatus(said)
		if diff := cmp.Diff(before, &said.Status); diff != "" {
			t.Fatalf("what was said has changed (-want +got):\n%s", diff)
		}
		if len(b.Work.Status.Conditions) != len(before.Conditions) {
			t.Fatalf("%+v", b.Work.Status)
		}
	})
}
