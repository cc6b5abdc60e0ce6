package feedback

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// MaxMessage is how many bytes of a message are shown. Argo CD's longest carry the errors of a whole
	// sync; the first of them is what people act on.
	MaxMessage = 2048

	// maxRevision bounds a revision: a commit, a tag, a chart version or an OCI digest.
	maxRevision = 256

	// maxWord bounds a user name.
	maxWord = 256

	// maxSpan bounds how far from the epoch a time may be, so that clients with 64-bit nanoseconds can read it.
	maxSpan = math.MaxInt64 / int64(time.Second)
)

// value is one reported value, not yet believed. Each method checks it and stores what it is good for, and tells
// whether it was any good.
type value workv1.FieldValue

// text is the string of a value. A work agent with the feature gate RawFeedbackJsonString reports several matches
// of a path as a JSON list; the first counts, as it does without the gate.
func (v value) text() (string, bool) {
	switch {
	case v.Type == workv1.String && v.String != nil:
		return *v.String, true
	case v.Type == workv1.JsonRaw && v.JsonRaw != nil:
		var list []string
		if err := json.Unmarshal([]byte(*v.JsonRaw), &list); err != nil || len(list) == 0 {
			return "", false
		}
		return list[0], true
	}
	return "", false
}

func (v value) oneOf(into *string, known []string) bool {
	s, ok := v.text()
	if !ok || !slices.Contains(known, s) {
		return false
	}
	*into = s
	return true
}

// time stores a time as the API server would have written it: in UTC, to the second.
func (v value) time(into *string) bool {
	s, ok := v.text()
	if !ok || len(s) > len(time.RFC3339Nano) {
		return false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Unix() < 0 || t.Unix() > maxSpan {
		return false
	}
	*into = t.UTC().Format(time.RFC3339)
	return true
}

func (v value) message(into *string) bool {
	s, ok := v.text()
	if !ok {
		return false
	}
	*into = Clean(s, MaxMessage)
	return true
}

func (v value) revision(into *string) bool {
	return v.token(into, maxRevision, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

func (v value) word(into *string) bool {
	return v.token(into, maxWord, func(r rune) bool { return !unicode.IsPrint(r) })
}

// token stores a short string that is taken whole or not at all.
func (v value) token(into *string, limit int, bad func(rune) bool) bool {
	s, ok := v.text()
	if !ok || s == "" || len(s) > limit || !utf8.ValidString(s) || strings.ContainsFunc(s, bad) {
		return false
	}
	*into = s
	return true
}

// revisionAt stores the i-th of several revisions. They arrive in order; one that is not known keeps its place.
func (v value) revisionAt(into *[]string, i int) bool {
	var s string
	if !v.revision(&s) {
		return false
	}
	for len(*into) <= i {
		*into = append(*into, "")
	}
	(*into)[i] = s
	return true
}

func (v value) count(into *int64) bool {
	if v.Type != workv1.Integer || v.Integer == nil || *v.Integer < 0 {
		return false
	}
	*into = *v.Integer
	return true
}

func (v value) boolean(into *bool) bool {
	if v.Type != workv1.Boolean || v.Boolean == nil {
		return false
	}
	*into = *v.Boolean
	return true
}

// Clean makes a text from a cluster fit to be shown: what would steer a terminal or cannot be seen becomes a
// space, and a text over limit bytes is cut at a character and ends in "…".
func Clean(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return ' '
	}, s)
	s = strings.TrimSpace(s)
	if !cut {
		return s
	}
	const ellipsis = "…"
	for len(s) > limit-len(ellipsis) {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + ellipsis
}
