package ui

import (
	"cmp"
	"hash/maphash"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// glyphs are the signs of the states. Colour alone never shows a state.
var glyphs = map[why.State]string{why.OK: "✓", why.Waiting: "…", why.Blocked: "✗", why.Unknown: "?", why.Later: "·"}

// words are the states in words.
var words = map[why.State]string{
	why.OK: "well", why.Waiting: "under way", why.Blocked: "stopped", why.Unknown: "may not be read", why.Later: "not reached",
}

// maxAttribute is the maximum size of a tooltip, in bytes.
const maxAttribute = 300

// functions are the functions for the templates.
var functions = template.FuncMap{
	"text":          func(s string) string { return feedback.Clean(s, feedback.MaxMessage) },
	"hint":          func(s string) string { return feedback.Clean(s, maxAttribute) },
	"short":         short,
	"glyph":         func(s why.State) string { return cmp.Or(glyphs[s], "·") },
	"word":          func(s why.State) string { return cmp.Or(words[s], "nothing here") },
	"time":          stamp,
	"at":            func(t time.Time) string { return stamp(&t) },
	"path":          path,
	"withoutReason": view.WithoutReason,
	"known":         func(s string) string { return cmp.Or(feedback.Clean(s, feedback.MaxMessage), "–") },
}

// short returns a revision in its usual short form.
func short(revision string) string {
	const commit, shown = 40, 8
	parts := strings.Split(feedback.Clean(revision, feedback.MaxRevision), ",")
	for i, p := range parts {
		if len(p) == commit && strings.Trim(p, "0123456789abcdef") == "" {
			parts[i] = p[:shown]
		}
	}
	return strings.Join(parts, ",")
}

// stamp returns a time in UTC; empty for none.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// path returns the address of a page: each part is one segment, "<namespace>/<name>" two.
func path(page string, parts ...string) string {
	out := []string{"", page}
	for _, p := range parts {
		for s := range strings.SplitSeq(p, "/") {
			out = append(out, url.PathEscape(s))
		}
	}
	return strings.Join(out, "/")
}

// escape returns a text for a query.
func escape(s string) string { return url.QueryEscape(s) }

// ident returns the element id for a name. A name with invisible characters is replaced by its sum.
func ident(kind, name string) string {
	if feedback.Clean(name, feedback.MaxWord) == name {
		return kind + "-" + name
	}
	return kind + "-" + strconv.FormatUint(maphash.String(seed, name), 36)
}
