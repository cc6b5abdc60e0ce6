package view

import (
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/why"
)

const (
	// otherRevision is the reason of a row without problems at a different revision than the expected revision.
	otherRevision = "OtherRevision"

	// shortest is the minimum length of an abbreviated commit.
	shortest = 7
)

// Expect sets the state of rows at a different revision to Waiting, unless a row is blocked. Before a rollout begins,
// all rows are at a different revision. Omitted rows of a report also count as waiting, because their revision is
// unknown. One of several sources at the revision is enough.
func (s *Set) Expect(revision string) {
	for i := range s.Rows {
		if r := &s.Rows[i]; !r.at(revision) && r.State != why.Blocked {
			r.State, r.Reason, r.Message = Worst(r.State, why.Waiting), otherRevision, "the Application is not at "+revision+" yet"
		}
	}
	SortWorst(s.Rows)
	s.Counts = CountsOf(s.Rows)
	if s.State == why.OK && (s.Omitted > 0 || slices.ContainsFunc(s.Rows, func(r Row) bool { return !r.at(revision) })) {
		s.State = why.Waiting
	}
}

// at returns whether a row is at a revision. A prefix is enough for a commit.
func (r *Row) at(revision string) bool {
	return slices.ContainsFunc(strings.Split(r.Revision, ","), func(is string) bool {
		commit := len(is) >= 40 && strings.Trim(is, "0123456789abcdef") == ""
		return is == revision && is != "" || commit && len(revision) >= shortest && strings.HasPrefix(is, revision)
	})
}
