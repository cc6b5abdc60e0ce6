package feedback

import (
	"encoding/json"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// value is one reported value before validation. Each method validates the value, stores the valid part, and returns
// false for an invalid value.
type value workv1.FieldValue

// text returns the string of a value. A work agent with the feature gate RawFeedbackJsonString reports several matches
// of a path as a JSON list. The first match counts, as without the gate.
func (v value) text() (string, bool) {
	switch {
	case v.Type == workv1.String && v.String != nil:
		return *v.String, true
	case v.Type == workv1.JsonRaw && v.JsonRaw != nil && len(*v.JsonRaw) <= maxRaw:
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

// time stores a time in the format of the API server.
func (v value) time(into *string) bool {
	s, ok := v.text()
	if !ok {
		return false
	}
	t, ok := Time(s)
	if ok {
		*into = t
	}
	return ok
}

func (v value) message(into *string) bool {
	s, ok := v.text()
	if !ok {
		return false
	}
	*into = Clean(s, MaxMessage)
	return true
}

func (v value) revision(into *string) bool { return v.fit(into, IsRevision) }

func (v value) word(into *string) bool { return v.fit(into, IsWord) }

// fit stores a valid string, without cutting.
func (v value) fit(into *string, fits func(string) bool) bool {
	s, ok := v.text()
	if !ok || !fits(s) {
		return false
	}
	*into = s
	return true
}

// revisionAt stores the i-th of several revisions. Revisions arrive in order, and an unknown revision keeps its place.
func (v value) revisionAt(into *[]string, i int) bool {
	var s string
	if !v.revision(&s) {
		return false
	}
	put(into, i, s)
	return true
}

// sourceTypeAt stores the tool of the i-th of several sources.
func (v value) sourceTypeAt(into *[]string, i int) bool {
	var s string
	if !v.oneOf(&s, argocd.SourceTypes) {
		return false
	}
	put(into, i, s)
	return true
}

// put stores the i-th entry of a list.
func put(into *[]string, i int, s string) {
	for len(*into) <= i {
		*into = append(*into, "")
	}
	(*into)[i] = s
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
