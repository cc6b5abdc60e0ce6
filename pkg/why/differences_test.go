package why_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/why"
)

// TestDifferences: a user learns whether differences are available, the cause, and who can act. The verdict about the
// delivery stays.
func TestDifferences(t *testing.T) {
	reason := func(r managedresources.Reason) why.Differences {
		return why.Differences{Status: managedresources.Status{Reason: r}}
	}
	agent := func(a why.AgentState) why.Differences {
		d := reason(managedresources.ReasonNotSent)
		d.Agent = a
		return d
	}
	for title, tc := range map[string]struct {
		is        why.Differences
		state     why.State
		says, who string
	}{
		"an entry without a time": {why.Differences{}, why.OK, "available", ""},
		"unreadable":              {why.Differences{Unread: true}, why.Unknown, "managedresources in namespace cluster1", ""},
		"not delivered":           {why.Differences{Absent: true}, why.Later, "does not deliver", ""},
		"no towline-source":       {why.Differences{Off: true, Source: &why.SourceState{Missing: true}}, why.Off, "no towline-source", "hub"},
		"off, and unreadable":     {why.Differences{Off: true}, why.Off, "no towline-source", "hub"},
		"without the option":      {why.Differences{Off: true, Source: &why.SourceState{}}, why.Off, "without --managed-resources", "hub"},
		"towline-source is down": {
			why.Differences{Off: true, Source: &why.SourceState{Unavailable: "no endpoints"}}, why.Blocked, "no endpoints", "hub",
		},
		"no agent":                   {agent(why.AgentState{Missing: true}), why.Off, "add-on towline-agent", "hub"},
		"a silent agent":             {agent(why.AgentState{Silent: true}), why.Off, "--argocd-managed-resources", "hub"},
		"an agent that is away":      {agent(why.AgentState{Unavailable: true}), why.Blocked, "does not answer", "hub"},
		"an agent that sent nothing": {agent(why.AgentState{}), why.Blocked, "sent nothing", "cluster1"},
		"an unsafe hub":              {reason(managedresources.ReasonClosed), why.Blocked, "inClusterEnabled", "hub"},
		"no Redis on the hub":        {reason(managedresources.ReasonRedisUnavailable), why.Blocked, "Redis of the hub", "hub"},
		"no entry on the cluster":    {reason(managedresources.ReasonNoEntryOnCluster), why.Blocked, "Redis of the cluster", "cluster1"},
		"too large":                  {reason(managedresources.ReasonTooLarge), why.Blocked, "5,000 resources", "author"},
		"the cluster is full":        {reason(managedresources.ReasonFull), why.Blocked, "--max-managed-bytes", "hub"},
		"another format":             {reason(managedresources.ReasonInvalid), why.Blocked, "cannot read", "cluster1"},
	} {
		l := why.Of(good(func(f *why.Facts) { f.Differences = &tc.is }))
		k := l.Differences
		if k == nil || k.Name != why.LinkDifferences || k.State != tc.state || !strings.Contains(k.Message, tc.says) || !strings.Contains(k.Who, tc.who) {
			t.Errorf("%s: %+v", title, k)
			continue
		}
		act := k.State == why.Blocked || k.State == why.Off
		if act != strings.HasPrefix(k.Message, "not available: ") || act != (k.Do != "" && k.Who != "") {
			t.Errorf("%s: %+v", title, k)
		}
		if l.Verdict() != why.OK {
			t.Errorf("%s: the verdict is %s", title, l.Verdict())
		}
	}
	if l := why.Of(good()); l.Differences != nil {
		t.Errorf("without facts: %+v", l.Differences)
	}
}

// TestAgeOfDifferences: an entry has its age, and a reason the time of the first notice.
func TestAgeOfDifferences(t *testing.T) {
	at := func(r managedresources.Reason) *why.Link {
		f := good()
		f.Differences = &why.Differences{Status: managedresources.Status{Reason: r, Since: &metav1.Time{Time: f.Now.Add(-3 * time.Minute)}}}
		return why.Of(f).Differences
	}
	if k := at(""); k.Message != "available, written 3m ago" || k.Since != nil {
		t.Errorf("%+v", k)
	}
	if k := at(managedresources.ReasonFull); k.Since == nil || k.Reason != "Full" {
		t.Errorf("%+v", k)
	}
}

// TestReasonsOfDifferences: each reason of an agent has words.
func TestReasonsOfDifferences(t *testing.T) {
	for _, r := range managedresources.AgentReasons {
		k := why.Of(good(func(f *why.Facts) { f.Differences = &why.Differences{Status: managedresources.Status{Reason: r}} })).Differences
		if len(k.Message) < 30 {
			t.Errorf("%s: %+v", r, k)
		}
	}
}
