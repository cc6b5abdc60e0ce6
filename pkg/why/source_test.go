package why_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// TestSource checks that a user learns who is down on the way of repositories through the hub, also while the agent of
// the cluster repeats the last references.
func TestSource(t *testing.T) {
	through := func(f *why.Facts) { f.App.Annotations[apis.AnnotationSource] = apis.SourceHub }
	is := func(s why.SourceState) func(*why.Facts) { return func(f *why.Facts) { f.Source = &s } }
	fails := status(func(s *argocd.Status) {
		s.Conditions = []argocd.Condition{{Type: "ComparisonError", Message: "refused. The error on the hub: kubectl get repositories -n cluster1 apps-1"}}
	})
	for title, tc := range map[string]struct {
		is        *why.Facts
		verdict   why.State
		says, who string
	}{
		"available":                     {good(through, is(why.SourceState{})), why.OK, "", ""},
		"unread":                        {good(through), why.OK, "", ""},
		"not installed":                 {good(through, is(why.SourceState{Missing: true})), why.Blocked, "not installed", "hub"},
		"down":                          {good(through, is(why.SourceState{Unavailable: "no endpoints"})), why.Blocked, "no endpoints", "hub"},
		"down, and the reason unread":   {good(through, fails, is(why.SourceState{Unavailable: "no endpoints"})), why.Blocked, "refused", "hub"},
		"down, for another Application": {good(is(why.SourceState{Unavailable: "no endpoints"})), why.OK, "", ""},
		"refused by the Git server":     {good(through, fails, is(why.SourceState{})), why.Blocked, "refused", "hub"},
		"a cluster with its own way":    {good(fails), why.Blocked, "refused", "author"},
	} {
		l := why.Of(tc.is)
		k := l.Broken()
		switch {
		case l.Verdict() != tc.verdict:
			t.Errorf("%s: the verdict is %s: %+v", title, l.Verdict(), k)
		case k == nil:
		case k.Name != why.LinkArgoCD, !strings.Contains(k.Message, tc.says), !strings.Contains(k.Who, tc.who), k.Do == "":
			t.Errorf("%s: %+v", title, k)
		}
	}
}
