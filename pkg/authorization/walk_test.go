package authorization_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

// FuzzRepositories: ReadSpec finds every address in a spec, at every place used by any version of Argo CD.
func FuzzRepositories(f *testing.F) {
	f.Add(`{"source":{"repoURL":"https://x"},"project":"p"}`, "sourceHydrator", "syncSource")
	f.Add(`{"sources":[{"repoURL":"a","chart":"c","helm":{"valuesObject":{"repoURL":"v"}}},{"ref":"r","repoURL":"oci://b"}]}`, "helm", "newer")
	f.Add(`{"sourceHydrator":{"drySource":{"repoURL":"a"},"syncSource":{"repoURL":"b"},"hydrateTo":{"targetBranch":"x"}}}`, "x", "helm")
	f.Add(`{"a":[[[{"b":[{"REPOURL":["c",{"d":"e"}]}]}]]]}`, "sync", "manifests")
	f.Add(`[]`, "valuesObject", "helm")
	f.Add(`7`, "", "\x00")
	f.Add(`[1e999]`, "valuesObject", "helm")
	f.Fuzz(func(t *testing.T, document, outer, inner string) {
		if !json.Valid([]byte(document)) || outer == "helm" && inner == "valuesObject" || isKnown(outer) {
			t.Skip()
		}
		spec := `{"x":` + document + `,` + quoted(t, outer) + `:[{` + quoted(t, inner) + `:{"repoURL":"https://here"}}]}`
		got, err := authorization.ReadSpec(fixture.Application("x").Spec(spec).Obj())
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if !slices.Contains(got.Sources, "https://here") {
			t.Errorf("not found in %s: %q", spec, got.Sources)
		}
		var value any
		decoder := json.NewDecoder(strings.NewReader(document))
		decoder.UseNumber() // a document may have numbers too large for any Go type
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		for _, address := range addresses("x", value) {
			if !slices.Contains(got.Sources, address) {
				t.Errorf("%q was not found in %s: %q", address, document, got.Sources)
			}
		}
	})
}

// isKnown tells whether ReadSpec expects a fixed type for a field of the spec, and may refuse the fuzzed value.
func isKnown(field string) bool {
	return slices.Contains([]string{"project", "destination", "source"}, field)
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// addresses returns the addresses in a decoded document. addresses looks only at the keys.
func addresses(key string, value any) []string {
	var out []string
	switch value := value.(type) {
	case string:
		if strings.EqualFold(key, "repoURL") {
			out = append(out, value)
		}
	case []any:
		for _, each := range value {
			out = append(out, addresses(key, each)...)
		}
	case map[string]any:
		for k, each := range value {
			if key != "helm" || k != "valuesObject" {
				out = append(out, addresses(k, each)...)
			}
		}
	}
	return out
}
