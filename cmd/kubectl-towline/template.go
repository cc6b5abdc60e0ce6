package main

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/towline-io/towline/pkg/feedback"
)

// templates are the values of --output that carry a template of the user after "=", as kubectl has them.
var templates = map[string]func(text string) (func(io.Writer, any) error, error){
	"jsonpath": func(text string) (func(io.Writer, any) error, error) {
		t := jsonpath.New("output").AllowMissingKeys(true)
		return t.Execute, t.Parse(braced(text))
	},
	"go-template": func(text string) (func(io.Writer, any) error, error) {
		t, err := template.New("output").Parse(text)
		if err != nil {
			return nil, err
		}
		return t.Execute, nil
	},
}

// braced puts a JSONPath without braces into braces: kubectl accepts ".items[0].name" and "{.items[0].name}".
func braced(text string) string {
	if strings.ContainsAny(text, "{}") {
		return text
	}
	return "{" + text + "}"
}

// userTemplate returns a function that prints a value by the template of --output, or nil for a format without a template.
// The error names the template's fault.
func (o *options) userTemplate() (func(io.Writer, any) error, error) {
	kind, text, _ := strings.Cut(o.output, "=")
	parse := templates[kind]
	if parse == nil {
		return nil, nil
	}
	if text == "" {
		return nil, fmt.Errorf("--output: %s needs a template: --output %s='...'", kind, kind)
	}
	execute, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("--output: %s: %w", kind, err)
	}
	return execute, nil
}

// printByTemplate prints v in the form that --output json has, by a template. Control characters are left out of all texts,
// because clusters wrote some of them.
func (o *options) printByTemplate(execute func(io.Writer, any) error, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var form any
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	if err := execute(o.Out, cleaned(form)); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

// cleaned returns a JSON value whose texts cannot steer a terminal.
func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return feedback.Clean(v, len(v))
	case []any:
		for i := range v {
			v[i] = cleaned(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = cleaned(v[key])
		}
	}
	return v
}
