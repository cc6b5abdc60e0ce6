package argocd_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// TestAppProjectKeepsUnknownFields checks that a project of a newer Argo CD stays unchanged.
func TestAppProjectKeepsUnknownFields(t *testing.T) {
	const spec = `{"sourceRepos":["*"],"destinations":[{"name":"a","newer":1}],"big":9007199254740993,"roles":[{"name":"x"}]}`
	var p argocd.AppProject
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"p"},"spec":`+spec+`}`), &p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]argocd.ProjectDestination{{Name: "a"}}, p.Spec.Destinations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := json.Marshal(p.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(got, &back); err != nil || string(back.Spec) != spec {
		t.Errorf("%v: %s", err, back.Spec)
	}
}

func TestNewAppProject(t *testing.T) {
	p := argocd.AppProject{Spec: argocd.AppProjectSpec{SourceNamespaces: []string{"team-*"}}}
	got, err := json.Marshal(p.Spec)
	if err != nil || string(got) != `{"sourceNamespaces":["team-*"]}` {
		t.Errorf("%v: %s", err, got)
	}
}
