package view_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// TestExpect checks that a set is OK only if all its Applications have the revision.
func TestExpect(t *testing.T) {
	const commit, other = "0123456789abcdef0123456789abcdef01234567", "fedcba9876543210fedcba9876543210fedcba98"
	for title, c := range map[string]struct {
		has      []string
		state    why.State
		omitted  int
		revision string
		want     why.State
	}{
		"all":               {has: []string{commit, commit}, revision: commit, want: why.OK},
		"the first of it":   {has: []string{commit}, revision: "0123456", want: why.OK},
		"too little of it":  {has: []string{commit}, revision: "012345", want: why.Waiting},
		"one is not":        {has: []string{commit, other}, revision: commit, want: why.Waiting},
		"one has none":      {has: []string{commit, ""}, revision: commit, want: why.Waiting},
		"nothing":           {has: []string{""}, revision: "", want: why.Waiting},
		"a tag":             {has: []string{"v1.2.3"}, revision: "v1.2.3", want: why.OK},
		"another tag":       {has: []string{"v1.10.0-rc1"}, revision: "v1.10.0", want: why.Waiting},
		"several sources":   {has: []string{other + "," + commit}, revision: "0123456789", want: why.OK},
		"not all are known": {has: []string{commit}, omitted: 3, revision: commit, want: why.Waiting},
		"stopped":           {has: []string{other}, state: why.Blocked, revision: commit, want: why.Blocked},
	} {
		s := &view.Set{State: why.OK, Omitted: c.omitted}
		for _, revision := range c.has {
			row := view.Row{Name: "a", State: why.OK, Revision: revision}
			if c.state != "" {
				row.State, s.State = c.state, c.state
			}
			s.Rows = append(s.Rows, row)
		}
		if s.Expect(c.revision); s.State != c.want {
			t.Errorf("%s: %s, wanted %s: %+v", title, s.State, c.want, s.Rows)
		}
	}
}
