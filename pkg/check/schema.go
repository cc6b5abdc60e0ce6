package check

import "strings"

// HasField returns whether the OpenAPI schema of a CRD has a field. The path has dots, and continues into items of
// lists and values of maps.
func HasField(schema map[string]any, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		for _, through := range []string{"items", "additionalProperties"} {
			if inner, is := schema[through].(map[string]any); is && schema["properties"] == nil {
				schema = inner
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		inner, is := properties[name].(map[string]any)
		if !is {
			return false
		}
		schema = inner
	}
	return true
}
