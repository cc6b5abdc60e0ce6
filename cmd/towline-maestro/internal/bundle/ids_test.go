package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// TestIDs: the same name and the same key give the same id. A different name, shape, source or key gives a different
// id. No id equals a public name.
func TestIDs(t *testing.T) {
	other := types.NamespacedName{Namespace: "cluster1", Name: "other"}
	seen := map[string]string{PublicName(source, key, 0): "public", PublicName(source, key, 1): "public, later"}
	for name, id := range map[string]string{
		"first": ids.Of(key, 0), "later": ids.Of(key, 1), "of another work": ids.Of(other, 0),
		"of another source": NewIDs("other", []byte("a key of tests")).Of(key, 0), "by another key": NewIDs(source, NewKey()).Of(key, 0),
	} {
		if before, ok := seen[id]; ok {
			t.Errorf("%s has the id of %s", name, before)
		}
		seen[id] = name
		if u, err := uuid.Parse(id); err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 {
			t.Errorf("%s: %s, %v", name, id, err)
		}
	}
	if ids.Of(key, 1) != NewIDs(source, []byte("a key of tests")).Of(key, 1) {
		t.Error("two processes do not agree")
	}
}

// TestABundleKeepsItsID: an existing bundle keeps the id after a change of the key. Only a new shape gets an id by the
// new key.
func TestABundleKeepsItsID(t *testing.T) {
	b := New(ids, aWork(manifest("one", "x")), created.Time)
	b.ID = "an id of an earlier key"
	read, err := Read(kept(t, b, nil))
	if err != nil {
		t.Fatal(err)
	}
	if next, err := read.Next(ids, aWork(manifest("one", "y"))); err != nil || next.ID != b.ID || next.IsPublic(source) {
		t.Errorf("%+v, %v", next, err)
	}
	if next, err := read.Next(ids, aWork(manifest("two", "y"))); err != nil || next.ID != ids.Of(key, 1) {
		t.Errorf("%+v, %v", next, err)
	}
}

// TestNoDataForAClusterHasTheID: the metadata and the data for the cluster do not contain the bundle's id, because
// tenants of the cluster read the agent's records and the owner references to the records.
func TestNoDataForAClusterHasTheID(t *testing.T) {
	for _, b := range []*Bundle{New(ids, aWork(manifest("one", "x")), created.Time), New(ids, aWork(manifest("one", "x")), created.Time).Moved(ids)} {
		event, err := Event(source, cetypes.CreateRequestAction, b)
		if err != nil {
			t.Fatal(err)
		}
		if event.Extensions()[cetypes.ExtensionResourceID] != b.ID {
			t.Errorf("the event is about %v", event.Extensions()[cetypes.ExtensionResourceID])
		}
		if meta := event.Extensions()[cetypes.ExtensionWorkMeta].(string); strings.Contains(meta, b.ID) || strings.Contains(string(event.Data()), b.ID) {
			t.Errorf("%s\n%s", meta, event.Data())
		}
	}
}

// TestMoved: the unchanged work gets a new bundle with a new name on the cluster. The new bundle has no report of the
// agent yet.
func TestMoved(t *testing.T) {
	b := New(ids, aWork(manifest("one", "x")), created.Time)
	b.ID, b.Sequence = PublicName(source, key, 0), "7"
	b.Work.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	if !b.IsPublic(source) || !b.Replaces() {
		t.Error("the bundle is applied, and everybody can compute its id")
	}
	moved := b.Moved(ids)
	if moved.IsPublic(source) || moved.ID != ids.Of(key, 1) || moved.Work.Generation != 1 || moved.Replaces() || moved.Answered() || !moved.After(b) {
		t.Errorf("%+v", moved)
	}
	name := func(b *Bundle) string {
		text, err := b.metadata(source)
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.ObjectMeta
		if err := json.Unmarshal([]byte(text), &meta); err != nil {
			t.Fatal(err)
		}
		return meta.Name
	}
	if name(b) != key.Name || name(moved) != PublicName(source, key, 1) {
		t.Errorf("on the cluster: %s, and then %s", name(b), name(moved))
	}
	if same, changed := b.Follow(moved); changed {
		t.Errorf("both ask for the same: %+v", same)
	}
}

// TestRestored: Restored returns the same row with a version new to all agents, and without a status of the agent.
func TestRestored(t *testing.T) {
	b := New(ids, aWork(manifest("one", "x")), created.Time)
	b.Sequence = "7"
	got := b.Restored()
	if got.ID != b.ID || got.Version != b.Version+1 || got.Shape != b.Shape || got.Work.Generation != 1 || got.Sequence != "" || b.Sequence != "7" {
		t.Errorf("%+v after %+v", got, b)
	}
}
