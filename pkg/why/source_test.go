package why_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/why"
)

// TestSource checks that a user learns who is down on the way of repositories through the hub, also while the agent of
// the cluster repeats the last references.
func TestSource(t *testing.T) {
	through := func(f *why.Facts) { f.App.Annotations[apis.AnnotationSource] = apis.SourceHub }
	is := func(s why.SourceState) func(*why.Facts) { return func(f *why.Facts) { f.Source = &s } }
	says := func(message string) func(*why.Facts) {
		return status(func(s *argocd.Status) { s.Conditions = []argocd.Condition{{Type: "ComparisonError", Message: message}} })
	}
	fails := says("refused. The error on the hub: kubectl get repositories -n cluster1 apps-1")
	agent := func(a why.AgentState) func(*why.Facts) { return func(f *why.Facts) { f.Agent = a } }
	repository := func(reason, message string) func(*why.Facts) {
		return func(f *why.Facts) {
			f.Repository = &why.Repository{Name: "apps-1", Address: "https://git.example.com/apps.git",
				Failure: source.Failure{Reason: reason, Message: message, Error: "git fetch: fatal"}}
		}
	}
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
		"no agent":                      {good(through, agent(why.AgentState{Missing: true})), why.Blocked, "add-on towline-agent", "hub"},
		"no port":                       {good(through, agent(why.AgentState{Closed: true})), why.Blocked, "--source-bind-address", "hub"},
		"no agent, direct":              {good(agent(why.AgentState{Missing: true, Closed: true})), why.OK, "", ""},
		"an agent that sends nothing":   {good(through, agent(why.AgentState{Silent: true})), why.OK, "", ""},
		"an agent that is away":         {good(through, agent(why.AgentState{Unavailable: true})), why.OK, "", ""},
		"an error, and no agent": {
			good(through, says("connection refused"), agent(why.AgentState{Unavailable: true})), why.Blocked, "does not answer the hub", "hub",
		},
		"a full volume, without a condition": {
			good(through, repository("hub", "towline-source fails")), why.Blocked,
			"the hub cannot read https://git.example.com/apps.git: towline-source fails (git fetch: fatal)", "hub",
		},
		"a refused credential": {good(through, fails, repository("credential", "refuses")), why.Blocked, "refuses (git fetch: fatal)", "hub"},
		"a submodule": {
			good(through, says("`git submodule update --init --recursive` failed: this cluster reads no repository of this name through the hub")),
			why.Blocked, "submodule", "author",
		},
		"a choice that the user may not read": {
			good(func(f *why.Facts) { f.Work.Annotations = map[string]string{apis.AnnotationSources: "apps-1"} }, is(why.SourceState{Missing: true})),
			why.Blocked, "not installed", "hub",
		},
		"a cluster with its own way": {good(fails), why.Blocked, "refused", "author"},
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

// TestUnreadRepository checks that a remedy follows from the reason, and that the reason is shown.
func TestUnreadRepository(t *testing.T) {
	for reason, do := range map[string]string{
		"hub":        "kubectl logs -A -l app.kubernetes.io/name=towline-source",
		"credential": "kubectl get repositories -n cluster1 apps-1 -o yaml",
	} {
		k := why.Of(good(func(f *why.Facts) {
			f.App.Annotations[apis.AnnotationSource] = apis.SourceHub
			f.Repository = &why.Repository{Name: "apps-1", Failure: source.Failure{Reason: reason, Error: "fatal"}}
		})).Broken()
		if k == nil || k.Reason != reason || !strings.HasPrefix(k.Do, do) {
			t.Errorf("%s: %+v", reason, k)
		}
	}
}
