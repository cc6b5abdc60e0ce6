package simulation

import (
	"os"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
)

// scripts must each end in the state that the users request: common cases, and cases with earlier bugs.
var scripts = map[string]string{
	"delivered": "create argocd/one c1 cascade",
	"moved to another namespace after an operation that the cache still shows": `create argocd/one c2 cascade
			settle
			operation argocd/one r1
			deliver a applications
			reconcile a argocd/one
			deliver a applications
			reconcile a argocd/one
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			deliver a works
			deliver a works
			deliver a works
			reconcile a argocd/one
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			finish c2 argocd/one
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			deliver a works
			deliver a works
			deliver a works
			status a argocd/one
			reconcile a argocd/one at 2 { namespace argocd/one apps; catch-up a }
			reconcile a argocd/one
			deliver a works
			reconcile a argocd/one
			deliver a works
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			deliver a works
			deliver a works
			reconcile a argocd/one
			deliver a works
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			deliver a works
			deliver a works
			reconcile a argocd/one
			hear c2 one-00006
			agent c2 one-00006
			agent c2 one-00006
			create argocd/one c2 cascade
			settle`,
	"moved": `create argocd/one c1 cascade
			settle
			move argocd/one c2`,
	"deleted": `create argocd/one c1 cascade
			settle
			delete argocd/one`,
	"deleted without a cascade": `create argocd/one c1 cascade
			settle
			finalizers argocd/one
			delete argocd/one`,
	"edited on its cluster": `create argocd/one c1 cascade
			settle
			edit-there c1 argocd/one`,
	"a type that changes on its way with a refresh": `create argocd/one c1 cascade
			settle
			refresh argocd/one hard
			spec argocd/one text
			settle
			spec argocd/one typed`,
	"read through the hub, and back": `create argocd/one c1 cascade
			settle
			source argocd/one hub
			settle
			refresh argocd/one hard
			settle
			operation argocd/one r1
			source argocd/one direct`,
	"read through the hub, and moved during an operation": `create argocd/one c1 cascade
			source argocd/one hub
			settle
			operation argocd/one r1
			move argocd/one c2`,
	"read through the hub, and released": `create argocd/one c1 cascade
			source argocd/one hub
			settle
			release argocd/one true
			settle
			release argocd/one`,
	"read through the hub, and on the cluster before": `by-hand c1 argocd/one equal
			create argocd/one c1 cascade
			source argocd/one hub`,
	"released": `create argocd/one c1 cascade
			settle
			release argocd/one true`,
	"another namespace": `create argocd/one c1 cascade
			settle
			namespace argocd/one apps`,
	"operation": `create argocd/one c1 cascade
			settle
			operation argocd/one r1`,
	"old-first": `create argocd/one c1 cascade old-first
			settle
			move argocd/one c2`,
	"refresh": `create argocd/one c1 cascade
			settle
			refresh argocd/one hard`,
	"unlabelled": `create argocd/one c1 cascade
			settle
			label argocd/one
			delete argocd/one`,
	"stale work in another namespace, restored": `create argocd/one c2 cascade
			settle
			backup c2
			restore-velero c2
			namespace argocd/one apps`,
	"stale work in another namespace, made again": `create argocd/one c1 cascade
			settle
			finalizers argocd/one
			delete argocd/one
			create argocd/one c1 cascade
			namespace argocd/one apps`,
	"operation on two clusters": `create argocd/one c1
			settle
			operation argocd/one r1
			deliver a applications
			reconcile a argocd/one
			deliver a applications
			reconcile a argocd/one
			move argocd/one c2`,
	"deleted, unlabelled and without a cluster": `create argocd/one c2 cascade
			deliver a applications
			reconcile a argocd/one at 4 { delete argocd/one; move argocd/one }
			label argocd/one false`,
	"deleted, unlabelled, without a cluster, on a paused one": `create argocd/one c2 cascade
			deliver a applications
			pause-cluster c2 true
			reconcile a argocd/one at 4 { delete argocd/one; move argocd/one }
			label argocd/one false`,
	"deleted without its label, released for want of a cluster": `create argocd/one c2 cascade
			settle
			move argocd/one
			settle
			label argocd/one
			delete argocd/one`,
	"the own work is another's of the cache": `create argocd/one c2 cascade
			settle
			move argocd/one c1
			lead-too b
			reconcile b argocd/one
			deliver a works
			reconcile a argocd/one at 13 { round c1; round c1 }
			wait 6s
			reconcile a argocd/one`,
	"an operation that cannot be read, and a change of namespace": `create argocd/one c1 cascade
			settle
			operation argocd/one invalid
			namespace argocd/one apps`,
	"deleted while its release was paused": `create argocd/one c1
			settle
			pause argocd/one true
			label argocd/one
			settle
			delete argocd/one`,
	"paused after its deletion": `create argocd/one c1 cascade
			settle
			delete argocd/one
			pause argocd/one true
			deliver a applications
			reconcile a argocd/one`,
	"moved before the cache shows its first work": `create argocd/one c1 cascade old-first
			move argocd/one c2
			deliver a applications
			reconcile a argocd/one
			deliver a applications
			reconcile a argocd/one`,
	"moved to a cluster that is away for long": `create argocd/one c1 cascade
			settle
			disconnect c2
			move argocd/one c2
			settle
			wait 6m
			settle`,
	"an operation on its way to a namespace that is closed": `rules on
			create team-a/one c1 cascade
			namespace team-a/one apps
			settle
			operation team-a/one r1
			turn a
			turn a
			round c1
			turn a
			turn a
			round c1
			turn a
			rules off
			namespace team-a/one`,
	"moved, and two processes make its first work": `create argocd/one c1 cascade old-first
			move argocd/one c2
			deliver a applications
			reconcile a argocd/one at 2 { lead-too b; turn b }`,
	"moved, and another process has just made its first work": `create argocd/one c1 cascade old-first
			lead-too b
			deliver a applications
			reconcile a argocd/one
			move argocd/one c2
			deliver b applications
			reconcile b argocd/one`,
	"made anew when its work was released with a request": `create argocd/one c1 of-set
			settle
			operation argocd/one r1
			deliver a applications
			reconcile a argocd/one
			deliver a applications
			reconcile a argocd/one
			deliver a works
			hear c1 one-00006
			agent c1 one-00006
			agent c1 one-00006
			hear c1 one-00006
			deliver a works
			agent c1 one-00006
			agent c1 one-00006
			deliver a works
			reconcile a argocd/one
			delete argocd/one
			settle
			create argocd/one c1 of-set`,
	"made anew, and its annotation cannot be read": `create argocd/one c2 of-set
			settle
			delete argocd/one
			deliver a applications
			reconcile a argocd/one
			create argocd/one c2 of-set
			lead a
			reconcile a argocd/one
			release argocd/one perhaps`,
	"made anew, and moved to a cluster that does not exist": `create argocd/one c2 of-set
			settle
			recreate argocd/one c2 of-set
			lead-too b
			reconcile b argocd/one
			move argocd/one c9`,
	"made anew, and moved to a cluster that is away": `create argocd/one c1 of-set
			settle
			recreate argocd/one c1
			lead-too b
			reconcile b argocd/one
			disconnect c2
			move argocd/one c2
			settle
			wait 6m
			settle`,
	"made anew, and a spec in a new namespace that cannot be read": `create argocd/one c2 of-set
			settle
			recreate argocd/one c2
			lead-too b
			reconcile b argocd/one
			spec argocd/one bad
			namespace argocd/one apps`,
	"made anew, and both Argo CDs may deploy": `create argocd/one c1 of-set
			settle
			recreate argocd/one c1 of-set
			lead-too b
			reconcile b argocd/one
			skip argocd/one
			spec argocd/one v2-push`,
	"made anew twice, and moved to a cluster that does not exist": `create argocd/one c1 of-set
			settle
			wait 6s
			recreate argocd/one c1
			lead-too b
			reconcile b argocd/one
			recreate argocd/one c1
			move argocd/one c9`,
	"made anew, and moved to a cluster with a wrong name during its release": `create argocd/one c2 of-set
			settle
			recreate argocd/one c2 old-first
			deliver a applications
			deliver a applications
			reconcile a argocd/one at 11 lost-answer
			hear c2 one-00008
			agent c2 one-00008
			skip argocd/one
			reconcile a argocd/one
			move argocd/one c_1`,
	"restored, and back in an earlier namespace": `create argocd/one c1 cascade
			namespace argocd/one apps
			settle
			backup c2
			restore-velero c1
			reconcile a argocd/one
			namespace argocd/one`,
	"two of one target, one of them changed before the cache shows it": `create argocd/one c1 cascade old-first
			create team-a/one c1
			deliver a applications
			deliver a applications
			namespace argocd/one team-a
			reconcile a argocd/one
			reconcile a team-a/one`,
	"made anew with old-first, while the former one moves": `create argocd/one c1
			settle
			move argocd/one c2
			deliver a applications
			reconcile a argocd/one
			delete argocd/one
			hear c2 one-00006
			agent c2 one-00006
			create argocd/one c1 cascade old-first`,
	"deleted, and its ApplicationSet was paused before the cache shows it": `create argocd/one c1 cascade of-set
			settle
			delete argocd/one
			deliver a applications
			pause-set argocd true
			reconcile a argocd/one`,
	"deleted, and its ApplicationSet is paused meanwhile": `create argocd/one c1 cascade of-set
			settle
			delete argocd/one
			deliver a applications
			reconcile a argocd/one at 9 { pause-set argocd true }`,
	"made anew late, after an outage": `create argocd/one c1 cascade followed
			settle
			disconnect c1
			settle
			set-controller off
			connect c1
			settle
			wait 70s
			settle
			set-controller on`,
	"two outages": `create argocd/one c1 cascade followed
			settle
			disconnect c1
			settle
			set-controller off
			connect c1
			settle
			disconnect c1
			wait 6m
			wait 6m
			set-controller on
			connect c1`,
	"an outage, and Towline starts anew": `create argocd/one c1 cascade followed
			settle
			disconnect c1
			place
			generate
			crash a
			connect c1
			place
			crash a`,
	"absence that is not known": `create argocd/one c1 cascade old-first
			settle
			fail c1
			restart-agent c1
			finalizers argocd/one
			move argocd/one c2
			settle`,
}

// TestScripts runs all scripts, or shows the trace of the script of the flag.
func TestScripts(t *testing.T) {
	o := Options{Names: []string{"c1", "c2"}}
	if *script != "" {
		text, err := os.ReadFile(*script)
		must(err)
		w, trace := Trace(o, Parse(string(text)))
		if t.Logf("\n%s\n%s", trace, w); w.failure != nil {
			t.Error(w.failure)
		}
		return
	}
	for title, script := range scripts {
		t.Run(title, func(t *testing.T) {
			if w := Replay(o, Parse(script)); w.failure != nil {
				t.Errorf("%s\n%s", w.failure, w)
			}
		})
	}
}

// TestReleasedSources: a released Application does not read through the hub any more, because the hub would refuse the
// cluster. The release may come at any time, also while a request is on its way.
func TestReleasedSources(t *testing.T) {
	for _, way := range []string{
		"settle\nrelease argocd/one true", "release argocd/one true", "settle\nlabel argocd/one", "settle\nlabel argocd/one false",
		"settle\noperation argocd/one r1\nrelease argocd/one true", "settle\nsource argocd/one direct\nrelease argocd/one true",
		"settle\nrelease argocd/one true\nsource argocd/one direct", "settle\nskip argocd/one",
	} {
		w := New(optionsOf(nil))
		for _, s := range Parse("create argocd/one c1 cascade\nsource argocd/one hub\n" + way + "\nsettle") {
			w.do(&s)
		}
		a := w.cluster("c1").apps[keyNamed("argocd/one")]
		if w.failure != nil || a != nil && strings.Contains(a.spec["source"], apis.DefaultSourceAddress) {
			t.Errorf("%s: %v, %v\n%s", way, w.failure, a, w)
		}
	}
}

// TestParse: Parse reads the output of Script.
func TestParse(t *testing.T) {
	steps, _ := everything().Run(7)
	if got := Script(Parse(Script(steps))); got != Script(steps) {
		t.Errorf("%s\nbecame\n%s", Script(steps), got)
	}
}

// TestEditsAreSetBackAtOnce: Towline repairs an edit on a cluster before the agent's periodic resync.
func TestEditsAreSetBackAtOnce(t *testing.T) {
	for _, tc := range []struct{ edit, more string }{
		{"edit-there c1 argocd/one", ""}, {"unfinalize-there c1 argocd/one", ""}, {"edit-there c1 argocd/one", "adopt argocd/one always"},
		{"edit-there c1 argocd/one", "crash a"}, {"edit-there c1 argocd/one", "refresh argocd/one hard"},
	} {
		w := New(optionsOf(nil))
		for _, s := range Parse("create argocd/one c1 cascade\nsettle\n" + tc.edit + "\n" + tc.more + "\nsettle") {
			w.do(&s)
		}
		a := w.cluster("c1").apps[keyNamed("argocd/one")]
		if w.failure != nil || strings.Contains(a.spec["source"], "edited") || len(a.finalizers) != 1 {
			t.Errorf("%s, %s: %v, %v %v\n%s", tc.edit, tc.more, w.failure, a.spec, a.finalizers, w)
		}
		if w.rest(); w.failure != nil {
			t.Errorf("%s, %s: %v", tc.edit, tc.more, w.failure)
		}
	}
}
