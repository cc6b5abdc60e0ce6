package view

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/why"
)

const (
	// otherRevision is the reason of a row that is well at another revision than the one that is waited for.
	otherRevision = "OtherRevision"

	// shortest is how much of a commit stands for it at least.
	shortest = 7
)

// Expect has those wait that are well at another revision than this one, as all are before anything has begun. So do those that a
// report has no room for, as nobody knows theirs. The revisions of several sources have to have it among them.
func (s *Set) Expect(revision string) {
	for i := range s.Rows {
		if r := &s.Rows[i]; !r.at(revision) && r.State != why.Blocked {
			r.State, r.Reason, r.Message = Worst(r.State, why.Waiting), otherRevision, "it is not at "+revision+" yet"
		}
	}
	SortWorst(s.Rows)
	s.Counts = CountsOf(s.Rows)
	if s.State == why.OK && (s.Omitted > 0 || slices.ContainsFunc(s.Rows, func(r Row) bool { return !r.at(revision) })) {
		s.State = why.Waiting
	}
}

// at tells whether a row is at a revision, of which the first characters are enough where it is a commit.
func (r *Row) at(revision string) bool {
	return slices.ContainsFunc(strings.Split(r.Revision, ","), func(is string) bool {
		commit := len(is) >= 40 && strings.Trim(is, "0123456789abcdef") == ""
		return is == revision && is != "" || commit && len(revision) >= shortest && strings.HasPrefix(is, revision)
	})
}
