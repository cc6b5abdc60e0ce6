package apps_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestNarrower checks narrower: the function finds each kind of incompatible
// change, and ignores compatible changes.
func TestNarrower(t *testing.T) {
	const published = `{type: object, required: [a], properties: {
		a: {type: string, maxLength: 9, enum: [x, "y"]},
		b: {type: array, items: {type: string}}, c: {type: boolean, default: false}}}`

	for name, tc := range map[string]struct{ from, to, want string }{
		"equal":             {"", "", ""},
		"new field":         {"properties: {", "properties: {n: {type: string},", ""},
		"no longer needed":  {"required: [a],", "", ""},
		"limit gone":        {"maxLength: 9, ", "", ""},
		"enum wider":        {"enum: [x,", "enum: [z, x,", ""},
		"described":         {"maxLength", "description: new, maxLength", ""},
		"field gone":        {"a: {type: string, maxLength: 9", "aa: {type: string, maxLength: 9", "the field is gone"},
		"other type":        {"items: {type: string}", "items: {type: integer}", "type was string and is integer"},
		"newly required":    {"required: [a]", "required: [a, b]", "the field b became required"},
		"enum narrower":     {"enum: [x,", "enum: [", "the value x is no longer allowed"},
		"new enum":          {"items: {type: string}", "items: {type: string, enum: [q]}", "an enum was added"},
		"stricter limit":    {"maxLength: 9", "maxLength: 8", "maxLength was 9 and is 8"},
		"new pattern":       {"maxLength: 9", "maxLength: 9, pattern: q", "pattern was <nil> and is q"},
		"new CEL rule":      {"maxLength: 9", "maxLength: 9, x-kubernetes-validations: [{rule: q}]", "x-kubernetes-validations was"},
		"other default":     {"default: false", "default: true", "default was false and is true"},
		"default gone":      {", default: false", "", "default was false and is <nil>"},
		"other merge":       {"type: array", "type: array, x-kubernetes-list-type: set", "x-kubernetes-list-type was"},
		"no items":          {", items: {type: string}", "", "items was added or removed"},
		"keeps unknown not": {"type: array", "type: array, x-kubernetes-preserve-unknown-fields: true", "preserve-unknown-fields was"},
	} {
		t.Run(name, func(t *testing.T) {
			ours := strings.Replace(published, tc.from, tc.to, 1)
			got := strings.Join(narrower("", parse(t, published), parse(t, ours)), "\n")
			if tc.want == "" && got != "" {
				t.Errorf("a compatible change is refused: %s", got)
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want it to contain %q", got, tc.want)
			}
		})
	}
}

func parse(t *testing.T, schema string) node {
	t.Helper()
	var parsed node
	if err := yaml.Unmarshal([]byte(schema), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}
