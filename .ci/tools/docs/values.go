package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// schema has the fields of a JSON schema used by the page.
type schema struct {
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
}

// values returns the page of the chart's values. The defaults and the comments are from values.yaml, and the allowed
// types and words are from values.schema.json.
func values(chart string) (string, error) {
	data, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "", err
	}
	var s schema
	if data, err = os.ReadFile(filepath.Join(chart, "values.schema.json")); err != nil {
		return "", err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return "", err
	}
	var rows [][]string
	if err := leaves("", "", doc.Content[0], s, &rows); err != nil {
		return "", err
	}
	return "# Values of the chart\n\n[Install](../install.md) names the most common values. Helm refuses values outside the schema.\n\n" +
		table([]string{"value", "type", "default", "meaning"}, rows), nil
}

// leaves adds a row for each value below a mapping. The comment of the mapping comes before the comment of the first
// value. A key without a schema is an error.
func leaves(path, comment string, node *yaml.Node, s schema, rows *[][]string) error {
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at, is := s.Properties[key.Value]
		if !is {
			return fmt.Errorf("the schema has no %s%s", path, key.Value)
		}
		says := strings.TrimSpace(comment + " " + plain(key.HeadComment))
		comment = ""
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			if err := leaves(path+key.Value+".", says, value, at, rows); err != nil {
				return err
			}
			continue
		}
		def, err := json.Marshal(decoded(value))
		if err != nil {
			return err
		}
		*rows = append(*rows, []string{code(path + key.Value), allowed(at), code(string(def)), cell(says)})
	}
	return nil
}

// plain returns a YAML comment as a single line without "#".
func plain(comment string) string {
	var words []string
	for line := range strings.SplitSeq(comment, "\n") {
		words = append(words, strings.TrimSpace(strings.TrimPrefix(line, "#")))
	}
	return strings.Join(words, " ")
}

// decoded returns the value of a YAML node, or the text of the error if the node cannot be decoded.
func decoded(node *yaml.Node) (v any) {
	if err := node.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// allowed returns the words of the schema's enum, or else the schema's types.
func allowed(s schema) string {
	var words []string
	for _, v := range s.Enum {
		if v != "" && v != nil {
			words = append(words, code(fmt.Sprint(v)))
		}
	}
	if len(words) > 0 {
		return strings.Join(words, ", ")
	}
	switch t := s.Type.(type) {
	case string:
		words = append(words, t)
	case []any:
		for _, one := range t {
			if one != "null" {
				words = append(words, fmt.Sprint(one))
			}
		}
	}
	for _, one := range append(s.AnyOf, s.OneOf...) {
		words = append(words, allowed(one))
	}
	return strings.Join(words, " or ")
}
