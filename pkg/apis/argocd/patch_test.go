package argocd_test

import (
	"encoding/json"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

func TestPatch(t *testing.T) {
	read := &argocd.Application{}
	read.UID, read.ResourceVersion = "u", "7"
	for name, tc := range map[string]struct {
		patch argocd.Patch
		want  string
	}{
		"nothing":                      {want: ""},
		"nothing, of an exact version": {argocd.Patch{Exact: true}, ""},
		"annotations": {argocd.Patch{Annotations: map[string]*string{"a": ptr.To("b"), "c": nil}},
			`{"metadata":{"annotations":{"a":"b","c":null},"uid":"u"}}`},
		"the last finalizer": {argocd.Patch{Finalizers: &[]string{}},
			`{"metadata":{"finalizers":[],"resourceVersion":"7","uid":"u"}}`},
		"an operation that goes": {argocd.Patch{Operation: json.RawMessage("null"), Exact: true},
			`{"metadata":{"resourceVersion":"7","uid":"u"},"operation":null}`},
		"a status whose conditions stay": {argocd.Patch{Status: json.RawMessage(`{"sync":null}`)},
			`{"metadata":{"uid":"u"},"status":{"sync":null}}`},
		"a status whose conditions go": {argocd.Patch{Status: json.RawMessage(`{"sync":null}`), Conditions: []argocd.Condition{}},
			`{"metadata":{"resourceVersion":"7","uid":"u"},"status":{"conditions":[],"sync":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(tc.patch.Data(read)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
