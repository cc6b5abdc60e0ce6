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

// outcome is the result of a request for an object.
type outcome struct {
	// Object is "<resource>/<namespace>/<name>".
	Object string `json:"object"`

	// State is why.OK for success, why.Blocked for a refusal or failure, why.Waiting after a timeout, and why.Unknown
	// for missing rights.
	State why.State `json:"state"`

	// Message tells the request and the result. Note is extra information for the user. Do is the recommended action
	// instead.
	Message string `json:"message"`
	Note    string `json:"note,omitempty"`
	Do      string `json:"do,omitempty"`

	// Patch and Delete are the writes, or the planned writes of a dry run.
	Patch  json.RawMessage `json:"patch,omitempty"`
	Delete bool            `json:"delete,omitempty"`
	DryRun string          `json:"dryRun,omitempty"`

	// err is the error of a failure.
	err error
}

// failed returns the outcome of an error.
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

// printOutcome prints a known outcome at once in a table. Other formats come at the end.
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

// indented returns a line of a manifest, with the leading blanks.
func indented(line string) string {
	rest := strings.TrimLeft(line, " ")
	return line[:len(line)-len(rest)] + plain(rest)
}

// patch prints the planned writes of a dry run.
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

// finish prints outcomes in other formats than tables, and returns the worst outcome.
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

// failure is an error that the command has printed already.
type failure struct{}

// Error implements error.
func (failure) Error() string { return "failed" }
