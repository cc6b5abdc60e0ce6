package main

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/towline-io/towline/pkg/why"
)

func TestPrintByTemplate(t *testing.T) {
	list := []outcome{
		{Object: "application.argoproj.io/argocd/a", State: why.OK, Message: "paused"},
		{Object: "application.argoproj.io/argocd/b", State: why.Blocked, Message: "no\x1b[31m \u202eway"},
	}
	for title, tc := range map[string]struct{ output, want, err string }{
		"JSONPath":                {`jsonpath={[*].state}`, "ok blocked", ""},
		"JSONPath without braces": {`jsonpath=[0].object`, "application.argoproj.io/argocd/a", ""},
		"JSONPath with a range": {
			`jsonpath={range [*]}{.object}{"\n"}{end}`, "application.argoproj.io/argocd/a\napplication.argoproj.io/argocd/b\n", "",
		},
		"a key without a value":        {`jsonpath={[0].nowhere}`, "", ""},
		"a filter":                     {`jsonpath={[?(@.state=="blocked")].object}`, "application.argoproj.io/argocd/b", ""},
		"a text that steers terminals": {`jsonpath={[1].message}`, "no [31m  way", ""},
		"Go template": {
			`go-template={{range .}}{{.object}} {{.state}};{{end}}`,
			"application.argoproj.io/argocd/a ok;application.argoproj.io/argocd/b blocked;", "",
		},
		"no template":                {`jsonpath`, "", "--output: jsonpath needs a template: --output jsonpath='...'"},
		"a JSONPath with a fault":    {`jsonpath={.a`, "", "--output: jsonpath: unclosed action"},
		"a Go template with a fault": {`go-template={{.a`, "", "--output: go-template: template: output:1: unclosed action"},
		"a template that fails":      {`go-template={{.a.b}}`, "", "--output: template: output:1:4: executing"},
		"no format": {
			`custom-columns=A:.a`, "",
			`--output: "custom-columns=A:.a" is not one of table, wide, json, yaml, name, jsonpath=TEMPLATE, go-template=TEMPLATE`,
		},
	} {
		t.Run(title, func(t *testing.T) {
			var out bytes.Buffer
			o := newOptions(genericiooptions.IOStreams{Out: &out})
			o.output = tc.output
			err := o.validate()
			if err == nil {
				_, err = o.printed(list, "names")
			}
			if out.String() != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("got %q and %v", out.String(), err)
			}
		})
	}
}
