package payload

import (
	"encoding/json"
	"maps"
	"slices"
)

// defaultProject is the project of an Application without a project.
const defaultProject = `"default"`

// tools are the sections of a source for each tool. Each section lists its options that Argo CD (2.14 and 3.5, IsZero
// of the types) ignores when Argo CD checks for an empty section.
var tools = map[string][]string{
	"kustomize": {"forceCommonLabels", "forceCommonAnnotations", "labelWithoutSelector", "labelIncludeTemplates", "commonAnnotationsEnvsubst"},
	"helm":      nil,
	"directory": nil,
}

// normalize converts a spec to the normal form of Argo CD (2.14 and 3.5, NormalizeApplicationSpec). Argo CD rewrites
// an Application with another form, and each apply of the work would revert the rewrite.
func normalize(fields map[string]json.RawMessage) {
	if project, there := fields["project"]; there && string(project) == `""` {
		fields["project"] = json.RawMessage(defaultProject)
	}
	if policy, err := object(fields["syncPolicy"]); err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(policy)), hasValue) {
		delete(fields, "syncPolicy")
	}
	if source, err := object(fields["source"]); err == nil && normalizeSource(source) {
		fields["source"] = jsonOf(source)
	}
	var sources []json.RawMessage
	if json.Unmarshal(fields["sources"], &sources) == nil && normalizeSources(sources) {
		fields["sources"] = listOf(sources)
	}
}

// hasValue reports whether a field of a sync policy has a value. For Argo CD, an empty object is a value, and an empty
// list is not.
func hasValue(value json.RawMessage) bool { return string(value) != "null" && string(value) != "[]" }

// normalizeSources normalizes each source in place, and reports whether a source has changed.
func normalizeSources(sources []json.RawMessage) (changed bool) {
	for i := range sources {
		if source, err := object(sources[i]); err == nil && normalizeSource(source) {
			sources[i], changed = jsonOf(source), true
		}
	}
	return changed
}

// normalizeSource drops empty sections of a source, and reports whether the source has changed.
func normalizeSource(source map[string]json.RawMessage) (changed bool) {
	for tool, passed := range tools {
		raw, there := source[tool]
		options, err := object(raw)
		if !there || err != nil {
			continue
		}
		maps.DeleteFunc(options, func(name string, value json.RawMessage) bool {
			return slices.Contains(passed, name) || name != "valuesObject" && empty(value)
		})
		if len(options) == 0 {
			delete(source, tool)
			changed = true
		}
	}
	return changed
}

// empty reports whether a value is the zero value of its type. An object is empty if all its fields are empty.
func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case `""`, "false", "null", "[]", "{}", "0":
		return true
	}
	fields, err := object(raw)
	return err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(fields)), func(v json.RawMessage) bool { return !empty(v) })
}
