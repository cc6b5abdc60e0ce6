package steer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/steer"
)

type builder = fixture.ApplicationBuilder

func app() *builder { return fixture.Application("a").Cluster("c1") }

func set(edit ...func(*steer.Set)) *steer.Set {
	s := &steer.Set{Namespace: "argocd", Name: "s"}
	for _, e := range edit {
		e(s)
	}
	return s
}

var yes, no = true, false

// TestOf checks that each verb writes the documented fields of docs/reference.md for the read version, or refuses with
// a reason.
func TestOf(t *testing.T) {
	const pausedKey, clusterKey = `"apps.open-cluster-management.io/paused"`, `"apps.open-cluster-management.io/ocm-managed-cluster"`
	for title, tc := range map[string]struct {
		app     *builder
		set     *steer.Set
		ask     steer.Request
		patch   string // text in the patch; "-" for no patch
		refused string // text in the refusal
		do      string // text of the alternative
		deletes bool
	}{
		"sync": {app: app(), ask: steer.Request{Verb: steer.Sync, Revision: "v1", Prune: true, User: "u"},
			patch: `"operation":{"sync":{"revision":"v1","prune":true,"syncStrategy":{"hook":{}}},"initiatedBy":{"username":"u"}}`},
		"sync with the options of the spec": {app: app().Spec(`{"syncPolicy":{"syncOptions":["A=b"],"retry":{"limit":2}}}`),
			ask:   steer.Request{Verb: steer.Sync, Preview: true, Apply: true},
			patch: `"operation":{"sync":{"dryRun":true,"syncOptions":["A=b"],"syncStrategy":{"apply":{}}},"initiatedBy":{},"retry":{"limit":2}}`},
		"sync of a set's": {app: app(), set: set(), ask: steer.Request{Verb: steer.Sync}, patch: `"operation"`},
		"sync while one waits": {app: app().Operation(`{"sync":{}}`), ask: steer.Request{Verb: steer.Sync}, refused: "has another operation already",
			do: "kubectl towline stop -n argocd a"},
		"sync to another revision than the automatic": {app: app().Spec(`{"source":{"targetRevision":"main"},"syncPolicy":{"automated":{}}}`),
			ask: steer.Request{Verb: steer.Sync, Revision: "v1"}, refused: "Argo CD syncs automatically to main"},
		"sync to another revision, automated off": {app: app().Spec(`{"source":{"targetRevision":"main"},"syncPolicy":{"automated":{"enabled":false}}}`),
			ask: steer.Request{Verb: steer.Sync, Revision: "v1"}, patch: `"v1"`},
		"sync of many sources to one revision": {app: app().Sources(2), ask: steer.Request{Verb: steer.Sync, Revision: "v1"}, refused: "several sources"},
		"sync of what is being deleted": {app: app().Deleted(time.Unix(9, 0)), ask: steer.Request{Verb: steer.Sync}, refused: "is being deleted",
			do: "why"},
		"no pull label": {app: app().NoLabel(apis.LabelPull), ask: steer.Request{Verb: steer.Sync}, refused: "is not Towline's",
			do: "label"},

		"refresh": {app: app(), set: set(), ask: steer.Request{Verb: steer.Refresh},
			patch: `"annotations":{"argocd.argoproj.io/refresh":"normal"}`},
		"hard refresh": {app: app(), ask: steer.Request{Verb: steer.Refresh, Hard: true}, patch: `"argocd.argoproj.io/refresh":"hard"`},
		"stop": {app: app().Runs("Running", "2026-01-02T03:04:05Z"), ask: steer.Request{Verb: steer.Stop},
			patch: `"status":{"operationState":{"phase":"Terminating"}}`},
		"stop what waits":     {app: app().Operation(`{"sync":{}}`), ask: steer.Request{Verb: steer.Stop}, patch: `"operation":null`},
		"stop what is over":   {app: app().Runs("Succeeded", "2026-01-02T03:04:05Z"), ask: steer.Request{Verb: steer.Stop}, patch: "-"},
		"stop what is ending": {app: app().Runs("Terminating", "2026-01-02T03:04:05Z"), ask: steer.Request{Verb: steer.Stop}, patch: "-"},

		"pause":          {app: app(), ask: steer.Request{Verb: steer.Pause}, patch: pausedKey + `:"true"`},
		"pause, paused":  {app: app().Annotation(apis.AnnotationPaused, "true"), ask: steer.Request{Verb: steer.Pause}, patch: "-"},
		"pause, no more": {app: app().Annotation(apis.AnnotationPaused, "false"), ask: steer.Request{Verb: steer.Pause}, patch: pausedKey + `:"true"`},
		"pause a set's": {app: app(), set: set(), ask: steer.Request{Verb: steer.Pause}, refused: "made argocd/a",
			do: "pause -n argocd --applicationset s"},
		"pause preserved": {app: app(), set: set(func(s *steer.Set) { s.Preserved = []string{apis.AnnotationPaused} }),
			ask: steer.Request{Verb: steer.Pause}, patch: pausedKey},
		"pause ignored": {app: app(),
			set: set(func(s *steer.Set) {
				s.Ignored = []string{"/metadata/annotations/apps.open-cluster-management.io~1paused"}
			}),
			ask: steer.Request{Verb: steer.Pause}, patch: pausedKey},
		"pause of a set that only creates": {app: app(), set: set(func(s *steer.Set) { s.CreateOnly = true }), ask: steer.Request{Verb: steer.Pause},
			patch: pausedKey},
		"pause of a set that is gone": {app: app(), set: set(func(s *steer.Set) { s.Gone = true }), ask: steer.Request{Verb: steer.Pause},
			patch: pausedKey},
		"pause of a set that may not be read": {app: app(), set: set(func(s *steer.Set) { s.Unread = true }), ask: steer.Request{Verb: steer.Pause},
			refused: "You may not read the ApplicationSet", do: "preservedFields"},
		"resume": {app: app().Annotation(apis.AnnotationPaused, "true"), ask: steer.Request{Verb: steer.Resume}, patch: pausedKey + `:null`},
		"resume, paused by the template": {app: app().Annotation(apis.AnnotationPaused, "true"), set: set(func(s *steer.Set) {
			s.Preserved, s.Templated = []string{apis.AnnotationPaused}, []string{apis.AnnotationPaused}
		}), ask: steer.Request{Verb: steer.Resume}, refused: "would not last", do: "remove the annotation from spec.template"},
		"resume, not paused": {app: app(), ask: steer.Request{Verb: steer.Resume}, patch: "-"},
		"resume, paused by its cluster": {app: app().Condition(apis.ConditionPausedWarning, "paused by the annotation "+apis.AnnotationPaused+
			" on Namespace c1: changes on the hub wait"), ask: steer.Request{Verb: steer.Resume},
			refused: "on Namespace c1", do: "resume --cluster c1"},

		"release":            {app: app(), ask: steer.Request{Verb: steer.Release}, patch: `/release":"true"`},
		"release of a set's": {app: app(), set: set(), ask: steer.Request{Verb: steer.Release}, refused: "would not last", do: `/release: "true"`},
		"released":           {app: app().Annotation(apis.AnnotationRelease, "true"), ask: steer.Request{Verb: steer.Release}, patch: "-"},
		"release, back": {app: app().Annotation(apis.AnnotationRelease, "true"), ask: steer.Request{Verb: steer.Release, Undo: true},
			patch: `/release":null`},
		"release, back of not": {app: app(), ask: steer.Request{Verb: steer.Release, Undo: true}, patch: "-"},

		"adopt":            {app: app(), ask: steer.Request{Verb: steer.Adopt}, patch: `/adopt":"always"`},
		"adopt matching":   {app: app(), ask: steer.Request{Verb: steer.Adopt, Policy: "matching"}, patch: `/adopt":"matching"`},
		"adopt odd":        {app: app(), ask: steer.Request{Verb: steer.Adopt, Policy: "odd"}, refused: `"odd" is not one of`},
		"adopt again":      {app: app().Annotation(apis.AnnotationAdopt, "always"), ask: steer.Request{Verb: steer.Adopt}, patch: "-"},
		"adopt of a set's": {app: app(), set: set(), ask: steer.Request{Verb: steer.Adopt}, refused: "would not last", do: `/adopt: "always"`},
		"move":             {app: app(), ask: steer.Request{Verb: steer.Move, To: "c2"}, patch: clusterKey + `:"c2"`},
		"move to itself":   {app: app(), ask: steer.Request{Verb: steer.Move, To: "c1"}, patch: "-"},
		"move nowhere":     {app: app(), ask: steer.Request{Verb: steer.Move}, refused: "--to"},
		"move of a set's": {app: app(), set: set(), ask: steer.Request{Verb: steer.Move, To: "c2"}, refused: "its template names the cluster",
			do: "generators"},
		"move by Placement": {app: app().Annotation(apis.AnnotationPlacement, "p"), ask: steer.Request{Verb: steer.Move, To: "c2"},
			refused: "follows Placement p", do: "edit placement p"},

		"delete": {app: app().Finalizers(apis.FinalizerResources), ask: steer.Request{Verb: steer.Delete}, patch: "-", deletes: true},
		"delete, cascade": {app: app(), ask: steer.Request{Verb: steer.Delete, Cascade: &yes},
			patch: `"finalizers":["resources-finalizer.argocd.argoproj.io"]`, deletes: true},
		"delete, cascades": {app: app().Finalizers(apis.FinalizerResources + "/background"), ask: steer.Request{Verb: steer.Delete, Cascade: &yes},
			patch: "-", deletes: true},
		"delete, no cascade": {app: app().Finalizers("x/y", apis.FinalizerResources), ask: steer.Request{Verb: steer.Delete, Cascade: &no},
			patch: `"finalizers":["x/y"]`, deletes: true},
		"delete, force":     {app: app(), ask: steer.Request{Verb: steer.Delete, Force: true}, patch: `/force-delete":"true"`, deletes: true},
		"delete of a set's": {app: app(), set: set(), ask: steer.Request{Verb: steer.Delete}, refused: "would make argocd/a again", do: "generators"},
		"deleted":           {app: app().Deleted(time.Unix(9, 0)), ask: steer.Request{Verb: steer.Delete}, patch: "-"},
		"deleted, force":    {app: app().Deleted(time.Unix(9, 0)), ask: steer.Request{Verb: steer.Delete, Force: true}, patch: `/force-delete":"true"`},
		"deleted, cascade":  {app: app().Deleted(time.Unix(9, 0)), ask: steer.Request{Verb: steer.Delete, Cascade: &yes}, refused: "comes too late"},
	} {
		t.Run(title, func(t *testing.T) {
			a := tc.app.UID("u1").Obj()
			a.ResourceVersion = "7"
			c, refused := steer.Of(&steer.Facts{App: a, Set: tc.set}, tc.ask)
			if refused != nil {
				if tc.refused == "" || !strings.Contains(refused.Message, tc.refused) || !strings.Contains(refused.Do, tc.do) {
					t.Fatalf("refused: %s\n%s", refused.Message, refused.Do)
				}
				return
			}
			patch := string(c.Patch)
			switch {
			case tc.refused != "" || c.Message == "" || c.Delete != tc.deletes:
				t.Errorf("got %+v, %s", c, patch)
			case tc.patch == "-" && patch != "", tc.patch != "-" && !strings.Contains(patch, tc.patch):
				t.Errorf("got the patch %q", patch)
			case patch != "" && (!strings.Contains(patch, `"uid":"u1"`) || !strings.Contains(patch, `"resourceVersion":"7"`)):
				t.Errorf("not bound to what was read: %s", patch)
			case c.Awaits == "" && (patch != "" || c.Delete):
				t.Error("nothing to wait for")
			case (tc.ask.Verb == steer.Delete && (c.Delete || patch != "")) != (tc.ask.Verb == steer.Delete && c.Confirm != ""):
				t.Errorf("asks %q", c.Confirm)
			}
		})
	}
}

// TestAdoptNever checks that no Application overrides the flag --adopt=never.
func TestAdoptNever(t *testing.T) {
	_, refused := steer.Of(&steer.Facts{App: app().Obj(), AdoptNever: true}, steer.Request{Verb: steer.Adopt})
	if refused == nil || !strings.Contains(refused.Error(), "--adopt=never") {
		t.Errorf("got %v", refused)
	}
}

// TestMoveToNoCluster checks a move with a misspelt cluster name.
func TestMoveToNoCluster(t *testing.T) {
	_, refused := steer.Of(&steer.Facts{App: app().Obj(), NoCluster: true}, steer.Request{Verb: steer.Move, To: "c9"})
	if refused == nil || !strings.Contains(refused.Error(), `ManagedCluster "c9" does not exist`) {
		t.Errorf("got %v", refused)
	}
}

// TestConfirm checks that the confirmation describes the effect on running resources.
func TestConfirm(t *testing.T) {
	for title, tc := range map[string]struct {
		app  *builder
		ask  steer.Request
		says string
	}{
		"all goes":  {app().Finalizers(apis.FinalizerResources), steer.Request{Verb: steer.Delete}, "the whole workload on c1 is deleted"},
		"all stays": {app(), steer.Request{Verb: steer.Delete}, "the workload stays on c1"},
		"it is released": {app().Finalizers(apis.FinalizerResources).Annotation(apis.AnnotationRelease, "true"), steer.Request{Verb: steer.Delete},
			"everything stays on c1"},
		"forced": {app(), steer.Request{Verb: steer.Delete, Force: true}, "does not wait for the cluster"},
		"moved": {app().Finalizers(apis.FinalizerResources), steer.Request{Verb: steer.Move, To: "c2"},
			"from c1 to c2, and the whole workload on c1 is deleted"},
		"adopted": {app(), steer.Request{Verb: steer.Adopt}, "whoever created it"},
	} {
		c, refused := steer.Of(&steer.Facts{App: tc.app.Obj()}, tc.ask)
		if refused != nil || !strings.Contains(c.Confirm, tc.says) {
			t.Errorf("%s: %v, %+v", title, refused, c)
		}
	}
}

// TestWithoutCluster checks that messages about an Application without a cluster are complete sentences.
func TestWithoutCluster(t *testing.T) {
	for name, b := range map[string]*builder{
		"idle": app().Cluster(""), "runs": app().Cluster("").Runs("Running", "2026-01-02T03:04:05Z"),
		"paused": app().Cluster("").Condition(apis.ConditionPausedWarning, "paused"),
	} {
		for _, verb := range steer.Verbs {
			for _, never := range []bool{false, true} {
				c, refused := steer.Of(&steer.Facts{App: b.Obj(), AdoptNever: never}, steer.Request{Verb: verb, To: "c2"})
				var said []string
				if refused != nil {
					said = []string{refused.Message, refused.Do}
				} else {
					said = []string{c.Message, c.Confirm, c.Awaits}
				}
				for _, s := range said {
					for line := range strings.Lines(s) {
						if strings.Contains(line, "  ") || strings.Contains(line, " ,") || strings.HasSuffix(strings.TrimRight(line, "\n"), " ") {
							t.Errorf("%s, %s: %q", name, verb, line)
						}
					}
				}
			}
		}
	}
}

// TestPauseOther checks the pause of an ApplicationSet or a cluster.
func TestPauseOther(t *testing.T) {
	c := steer.PauseOther(nil, "u", "7", true)
	if string(c.Patch) != `{"metadata":{"annotations":{"apps.open-cluster-management.io/paused":"true"},"resourceVersion":"7","uid":"u"}}` {
		t.Errorf("got %s", c.Patch)
	}
	on := map[string]string{apis.AnnotationPaused: "true"}
	if c := steer.PauseOther(on, "u", "7", true); c.Patch != nil {
		t.Errorf("got %s", c.Patch)
	}
	if c := steer.PauseOther(on, "u", "7", false); !strings.Contains(string(c.Patch), `/paused":null`) {
		t.Errorf("got %s", c.Patch)
	}
	if c := steer.PauseOther(nil, "u", "7", false); c.Patch != nil {
		t.Errorf("got %s", c.Patch)
	}
}
