package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// The glyphs and colours of states.
var (
	glyphs  = map[why.State]string{why.OK: "✓", why.Waiting: "…", why.Blocked: "✗", why.Unknown: "?", why.Later: "·", why.Off: "-"}
	colours = map[why.State]string{why.OK: "32", why.Waiting: "33", why.Blocked: "31", why.Unknown: "35", why.Later: "90", why.Off: "90"}
)

// verdicts are the final sentences of a diagnosis.
var verdicts = map[why.State]string{
	why.OK:      "The Application is on the cluster, and healthy.",
	why.Waiting: "The Application is under way, and waits at: ",
	why.Blocked: "The Application is stopped at: ",
	why.Unknown: "What may be read shows nothing wrong.",
}

// printed prints v in every format except tables, and returns false for a table.
func (o *options) printed(v any, name string) (bool, error) {
	if execute, err := o.userTemplate(); execute != nil || err != nil {
		if err == nil {
			err = o.printByTemplate(execute, v)
		}
		return true, err
	}
	switch o.output {
	case "name":
		_, err := fmt.Fprintln(o.Out, name)
		return true, err
	case "json":
		e := json.NewEncoder(o.Out)
		e.SetIndent("", "  ")
		return true, e.Encode(v)
	case "yaml":
		data, err := yaml.Marshal(v)
		if err == nil {
			_, err = o.Out.Write(data)
		}
		return true, err
	}
	return false, nil
}

// coloured reports whether to print colours: on a terminal, unless the user disables them.
func (o *options) coloured() bool {
	f, ok := o.Out.(*os.File)
	return ok && !o.noColor && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

// glyph returns the glyph of a state.
func (o *options) glyph(s why.State) string {
	if !o.coloured() {
		return glyphs[s]
	}
	return "\x1b[" + colours[s] + "m" + glyphs[s] + "\x1b[0m"
}

func (o *options) printDiagnosis(l *why.Diagnosis, now time.Time) error {
	name := "application.argoproj.io/" + l.Application
	if l.Application == "" {
		name = "applicationset.argoproj.io/" + l.Set
	}
	if done, err := o.printed(l, name); done || err != nil {
		return err
	}
	out := &printer{to: o.Out}
	out.line("%s", bounded(heading(l)))
	out.line("")
	for _, k := range l.Links {
		o.printLink(out, k, now)
	}
	if l.Differences != nil {
		o.printLink(out, *l.Differences, now)
	}
	for _, u := range l.Unread {
		out.line("%s %-18s not allowed: %s", o.glyph(why.Unknown), "", bounded(u))
	}
	out.line("")
	verdict := verdicts[l.Verdict()]
	if b := l.Broken(); b != nil {
		verdict += b.Name + "."
	}
	out.line("%s", verdict)
	if len(l.Trace) > 0 {
		out.line("")
		out.line("The checks and steps of the decision:")
	}
	for _, e := range l.Trace {
		state, message := why.OK, e.Work
		if e.Words != "" {
			state, message = why.Blocked, view.WithReason(e.Work, e.Words)
		}
		out.line("%s", strings.TrimRight(fmt.Sprintf("%s %-22s %s", o.glyph(state), e.Gate, bounded(message)), " "))
	}
	return out.err
}

// printLink prints a link, and for a link with a problem also who can act.
func (o *options) printLink(out *printer, k why.Link, now time.Time) {
	since := ""
	if k.Since != nil {
		since = " (for " + duration.HumanDuration(now.Sub(*k.Since)) + ")"
	}
	out.line("%s %-18s %s%s", o.glyph(k.State), k.Name, bounded(k.Message), since)
	if k.State == why.Blocked || k.State == why.Waiting {
		out.detail("reason", k.Reason)
		out.detail("who", k.Who)
		out.detail("do", k.Do)
	}
}

func heading(l *why.Diagnosis) string {
	switch {
	case l.Application == "":
		return "ApplicationSet " + l.Set + " on " + l.Cluster
	case l.Cluster == "":
		return "Application " + l.Application
	}
	return "Application " + l.Application + " on " + l.Cluster
}

// plain returns the text on a single line, without terminal control characters. Parts of the text come from clusters.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, feedback.Clean(text, len(text)))
}

// bounded returns plain text, at most as long as Towline's own messages. Readers ignore the end of longer text.
func bounded(text string) string { return feedback.Clean(plain(text), feedback.MaxMessage) }

// printer prints lines until an error.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, format+"\n", args...)
	}
}

// detail prints a named detail of a link.
func (p *printer) detail(name, value string) {
	if value != "" {
		p.line("    %-7s %s", name, bounded(value))
	}
}
