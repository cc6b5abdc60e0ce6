package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/why"
)

// Fate is the future of an Application after a takeover by Towline.
type Fate struct {
	// Application is the namespace and name of the Application.
	Application string

	// Older is true if an older controller made the ManifestWork. Sent is true if the Application has a ManifestWork.
	Older, Sent bool

	// Plan is Towline's decision; nil if facts are unreadable.
	Plan *delivery.Plan

	// Unread is the reason for a missing Plan.
	Unread string
}

// stopped returns the condition that blocks the Application; nil for none.
func (f *Fate) stopped() *delivery.Condition {
	for i, c := range f.Plan.Conditions {
		if c.Reason == f.Plan.Blocked() && c.Reason != "" {
			return &f.Plan.Conditions[i]
		}
	}
	return nil
}

// Takeover describes the fate of Applications when Towline takes over: adopted Applications, newly sent Applications,
// blocked Applications, and works without an Application.
func Takeover(fates []Fate, orphans []string) []Line {
	var adopted, fresh, own, unread []string
	type stop struct{ kind, reason string }
	stops, messages := map[stop][]string{}, map[stop]string{}
	said := ""
	for i := range fates {
		f := &fates[i]
		if f.Plan == nil {
			unread = append(unread, f.Application)
			said = cmp.Or(said, f.Unread)
			continue
		}
		switch c := f.stopped(); {
		case c != nil:
			s := stop{c.Type, c.Reason}
			stops[s] = append(stops[s], f.Application)
			messages[s] = cmp.Or(messages[s], c.Message)
		case f.Older:
			adopted = append(adopted, f.Application)
		case f.Sent:
			own = append(own, f.Application)
		default:
			fresh = append(fresh, f.Application)
		}
	}
	out := []Line{good("taken over", "%s of older controllers, in place", Count(len(adopted), "ManifestWork"))}
	if len(own) > 0 {
		out = append(out, good("Towline's already", "%s", Count(len(own), "ManifestWork")))
	}
	if len(fresh) > 0 {
		out = append(out, lesser("sent for the first time", "", "%s: %s", Count(len(fresh), "Application"), some(fresh)))
	}
	keys := slices.SortedFunc(maps.Keys(stops), func(a, b stop) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.reason, b.reason)) })
	for _, s := range keys {
		name := "refused"
		if s.kind == apis.ConditionPropagationForbiddenError {
			name = "forbidden"
		}
		out = append(out, wrong(name, "kubectl towline why -n "+first(stops[s]), "%s, reason %s: %s. The first: %s",
			Count(len(stops[s]), "Application"), s.reason, some(stops[s]), messages[s]))
	}
	if len(unread) > 0 {
		out = append(out, Line{Name: "not decided", State: why.Unknown, Do: "kubectl towline why -n " + first(unread),
			Message: fmt.Sprintf("%s, without all the facts for a decision: %s. The first: %s", Count(len(unread), "Application"), some(unread), said)})
	}
	if len(orphans) > 0 {
		out = append(out, lesser("without Application", "see docs/takeover.md, Taking over", "%s would be kept until a person decides: %s",
			Count(len(orphans), "ManifestWork"), some(orphans)))
	}
	return out
}

// UnreadWorks replaces the line about works without an Application if the user may not list works.
func UnreadWorks() Line { return unknown("without Application", "manifestworks in all namespaces") }

// first returns the first of the "<namespace>/<name>", with a blank in place of the slash.
func first(names []string) string {
	n := slices.Min(names)
	for i := range n {
		if n[i] == '/' {
			return n[:i] + " " + n[i+1:]
		}
	}
	return n
}

// Count returns a number with its noun.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
