package bench

import (
	"encoding/json"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// TestWants checks that a played cluster fulfils each request in Towline's works once.
func TestWants(t *testing.T) {
	l := layout{clusters: 2, sets: 2}
	app := &argocd.Application{}
	made := l.application(3, "uid")
	made["spec"].(object)["source"].(object)["targetRevision"] = revision(9)
	if err := json.Unmarshal(encoded(made), app); err != nil {
		t.Fatal(err)
	}
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	changed := wantedBy(&w.Spec)
	operation := encoded(object{
		"sync": object{"revision": revision(11)}, "info": []object{{"name": apis.OperationInfo, "value": "1700000000-abc"}},
	})
	if err := work.Carry(w, app, work.Request{Operation: operation, Version: "1001"}); err != nil {
		t.Fatal(err)
	}
	asked := wantedBy(&w.Spec)
	on := &there{version: 1}
	for _, step := range []struct {
		title           string
		wants           wants
		number, version int
		taken           string
	}{
		{"a change of the spec", changed, 9, 2, ""},
		{"the same once more", changed, 9, 2, ""},
		{"an operation", asked, 11, 3, "1700000000-abc"},
		{"the same operation once more", asked, 11, 3, "1700000000-abc"},
		{"the Application after it", changed, 11, 3, "1700000000-abc"},
		{"a newer change", wants{number: 12}, 12, 4, ""},
		{"what cannot be read", wants{}, 12, 4, ""},
	} {
		on.obeys(step.wants)
		if on.number != step.number || on.version != step.version || on.taken != step.taken {
			t.Errorf("%s: number %d, version %d, taken %q", step.title, on.number, on.version, on.taken)
		}
	}
}
