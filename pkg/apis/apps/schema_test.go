package apps_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// node is a piece of a YAML document: here, a schema or a part of one.
type node = map[string]any

// harmless are schema keywords without an effect on the validity of an object.
var harmless = []string{"title", "description", "externalDocs", "example", "nullable"}

// structural are the keywords of storage, defaults and merges. A difference in
// these keywords changes the handling of a valid object.
var structural = []string{
	"type", "default", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
	"x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
}

// narrower lists the incompatible differences of ours: objects valid under
// published are refused, lose a value, or merge differently. An empty list means
// compatible schemas. Fewer constraints and new optional fields are compatible.
func narrower(path string, published, ours node) []string {
	var found []string
	report := func(format string, args ...any) {
		found = append(found, path+": "+fmt.Sprintf(format, args...))
	}

	for _, keyword := range slices.Sorted(maps.Keys(ours)) {
		was, is := published[keyword], ours[keyword]
		switch {
		case keyword == "properties" || keyword == "items" || keyword == "additionalProperties":
			// Compared below, field by field.
		case keyword == "required":
			for _, field := range list(is) {
				if !slices.Contains(list(was), field) {
					report("the field %v became required", field)
				}
			}
		case keyword == "enum":
			if was == nil {
				report("an enum was added")
			}
			for _, value := range list(was) {
				if !slices.Contains(list(is), value) {
					report("the value %v is no longer allowed", value)
				}
			}
		case slices.Contains(harmless, keyword) || slices.Contains(structural, keyword):
		case !reflect.DeepEqual(was, is):
			report("%s was %v and is %v", keyword, was, is)
		}
	}
	for _, keyword := range structural {
		if was, is := published[keyword], ours[keyword]; !reflect.DeepEqual(was, is) {
			report("%s was %v and is %v", keyword, was, is)
		}
	}

	found = append(found, narrowerFields(path, object(published["properties"]), object(ours["properties"]))...)
	for _, keyword := range []string{"items", "additionalProperties"} {
		was, is := object(published[keyword]), object(ours[keyword])
		switch {
		case (was == nil) != (is == nil):
			report("%s was added or removed", keyword)
		case was != nil:
			found = append(found, narrower(path+"["+keyword+"]", was, is)...)
		}
	}
	return found
}

// narrowerFields compares the fields of an object. A field of ours alone is new,
// and compatible if the field is optional.
func narrowerFields(path string, published, ours node) []string {
	var found []string
	for _, field := range slices.Sorted(maps.Keys(published)) {
		is := object(ours[field])
		if is == nil {
			found = append(found, path+"."+field+": the field is gone")
			continue
		}
		found = append(found, narrower(path+"."+field, object(published[field]), is)...)
	}
	return found
}

// object is the value as an object, or nil.
func object(value any) node {
	result, _ := value.(node)
	return result
}

// list is the value as a list, or nil.
func list(value any) []any {
	result, _ := value.([]any)
	return result
}
