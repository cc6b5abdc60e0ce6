package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
)

// outcome is what became of a request for one object.
type outcome struct {
	// Object is "<resource>/<namespace>/<name>".
	Object string `json:"object"`

	// State is why.OK for done, why.Blocked for refused or failed, why.Waiting for what is not over at the end of time, and
	// why.Unknown where rights are missing.
	State why.State `json:"state"`

	// Message says what was asked for and what became of it; Note what a person should know; Do what to do in its place.
	Message string `json:"message"`
	Note    string `json:"note,omitempty"`
	Do      string `json:"do,omitempty"`

	// Patch and Delete are what was, or would be, written.
	Patch  json.RawMessage `json:"patch,omitempty"`
	Delete bool            `json:"delete,omitempty"`
	DryRun string          `json:"dryRun,omitempty"`

	// err is the failure, if it is one.
	err error
}

// failed is the outcome of an error.
func failed(object string, err error) outcome {
	if err == nil {
		return outcome{}
	}
	out := outcome{Object: object, State: why.Blocked, Message: err.Error(), err: err}
	var refused *steer.Refusal
	switch {
	case errors.As(err, &refused):
		out.Do, out.err = refused.Do, nil
	case apierrors.IsForbidden(err):
		out.State, out.err = why.Unknown, nil
	}
	return out
}

// printOutcome prints one as soon as it is known; other formats than tables are printed at the end.
func (o *options) printOutcome(r outcome) error {
	if o.output != "table" && o.output != "wide" {
		return nil
	}
	p := &printer{to: o.Out}
	_, name, _ := strings.Cut(r.Object, "/")
	p.line("%s %s: %s", o.glyph(r.State), plain(name), plain(r.Message))
	p.detail("note", r.Note)
	for i, line := range strings.Split(r.Do, "\n") {
		switch {
		case r.Do == "":
		case i == 0:
			p.line("    do      %s", plain(line))
		default:
			p.line("            %s", strings.TrimRight(indented(line), " "))
		}
	}
	if r.DryRun != "" && (r.Patch != nil || r.Delete) {
		p.patch(r)
	}
	return p.err
}

// indented is a line of a manifest, whose blanks in front stay.
func indented(line string) string {
	rest := strings.TrimLeft(line, " ")
	return line[:len(line)-len(rest)] + plain(rest)
}

// patch prints what a dry run would write.
func (p *printer) patch(r outcome) {
	if r.Patch != nil {
		p.line("    would patch %s:", r.Object)
		text, err := yaml.JSONToYAML(r.Patch)
		p.err = cmp.Or(p.err, err)
		for line := range strings.Lines(string(text)) {
			p.line("      %s", indented(strings.TrimRight(line, "\n")))
		}
	}
	if r.Delete {
		p.line("    would delete %s", r.Object)
	}
}

// finish prints outcomes in other formats, and gives the worst of them.
func (o *options) finish(list []outcome) error {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Object
	}
	if _, err := o.printed(list, strings.Join(names, "\n")); err != nil {
		return err
	}
	for _, r := range list {
		if r.err != nil {
			return failure{}
		}
	}
	for _, s := range []why.State{why.Unknown, why.Blocked, why.Waiting} {
		if slices.ContainsFunc(list, func(r outcome) bool { return r.State == s }) {
			return found(s)
		}
	}
	return nil
}

// failure is an error that has been shown already.
type failure struct{}

// Error implements error.
func (failure) Error() string { return "failed" }
