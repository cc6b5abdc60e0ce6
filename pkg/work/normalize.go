package work

import (
	"encoding/json"
	"maps"
	"slices"
)

// defaultProject is the project of an Application that names none.
const defaultProject = `"default"`

// tools are the sections of a source with the options of a tool, and the options of each by which Argo CD does not tell
// whether the section says anything (2.14 and 3.5, IsZero of the types).
var tools = map[string][]string{
	"kustomize": {"forceCommonLabels", "forceCommonAnnotations", "labelWithoutSelector", "labelIncludeTemplates", "commonAnnotationsEnvsubst"},
	"helm":      nil,
	"directory": nil,
}

// normalize brings a spec into the form in which Argo CD (2.14 and 3.5, NormalizeApplicationSpec) keeps it. Argo CD writes
// the Application for what it finds in another form, and each apply of the work would write the Application back.
func normalize(fields map[string]json.RawMessage) {
	if project, there := fields["project"]; there && string(project) == `""` {
		fields["project"] = json.RawMessage(defaultProject)
	}
	if policy, err := object(fields["syncPolicy"]); err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(policy)), said) {
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

// said tells whether a field of a sync policy has a value: Argo CD takes an empty object for one, and an empty list for none.
func said(value json.RawMessage) bool { return string(value) != "null" && string(value) != "[]" }

// normalizeSources tells whether one of the sources had to be changed.
func normalizeSources(sources []json.RawMessage) (changed bool) {
	for i := range sources {
		if source, err := object(sources[i]); err == nil && normalizeSource(source) {
			sources[i], changed = jsonOf(source), true
		}
	}
	return changed
}

// normalizeSource drops the sections of a source that say nothing, and tells whether there were any.
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

// empty tells whether a value is the zero value of its type, for an object that of all its fields.
func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case `""`, "false", "null", "[]", "{}", "0":
		return true
	}
	fields, err := object(raw)
	return err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(fields)), func(v json.RawMessage) bool { return !empty(v) })
}

// listOf is the JSON of a list with these elements.
func listOf(elements []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}
