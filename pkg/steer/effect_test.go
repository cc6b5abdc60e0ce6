package steer_test

import (
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/steer"
	"github.com/towline-io/towline/pkg/why"
)

// TestProgress checks that a request is done when the hub shows the effect, and not before.
func TestProgress(t *testing.T) {
	const t1, t2 = "2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z"
	w := &workv1.ManifestWork{}
	for title, tc := range map[string]struct {
		verb        steer.Verb
		undo        bool
		before, now *builder // now: nil for gone
		old, fresh  *workv1.ManifestWork
		state       why.State
		says        string
	}{
		"sync waits": {verb: steer.Sync, before: app().Runs("Succeeded", t1), now: app().Runs("Succeeded",
			t1).Operation(`{"sync":{}}`), state: why.Waiting, says: "not taken"},
		"sync was taken, nothing seen": {verb: steer.Sync, before: app().Runs("Succeeded", t1), now: app().Runs("Succeeded", t1), state: why.Waiting},
		"sync waits, paused": {verb: steer.Sync, before: app(), now: app().Operation(`{"sync":{}}`).Condition(apis.ConditionPausedWarning,
			"paused by x"), state: why.Waiting, says: "paused by x"},
		"sync is forbidden": {verb: steer.Sync, before: app(),
			now: app().Operation(`{"sync":{}}`).Condition(apis.ConditionPropagationForbiddenError, "no"), state: why.Blocked, says: "no"},
		"sync runs": {verb: steer.Sync, before: app().Runs("Succeeded", t1), now: app().Runs("Running", t2), state: why.Waiting,
			says: "runs"},
		"sync is done":    {verb: steer.Sync, before: app(), now: app().Runs("Succeeded", t2), state: why.OK},
		"sync failed":     {verb: steer.Sync, before: app(), now: app().Runs("Failed", t2), state: why.Blocked, says: "Failed"},
		"refresh waits":   {verb: steer.Refresh, before: app(), now: app().Annotation(apis.AnnotationRefresh, "hard"), state: why.Waiting},
		"refresh is done": {verb: steer.Refresh, before: app(), now: app(), state: why.OK},
		"refresh is not answered": {verb: steer.Refresh, before: app(), now: app().Condition(apis.ConditionRefreshWarning, "late"),
			state: why.Blocked, says: "late"},
		"stop waits":              {verb: steer.Stop, before: app().Runs("Running", t1), now: app().Runs("Terminating", t1), state: why.Waiting},
		"stop is done":            {verb: steer.Stop, before: app().Runs("Running", t1), now: app().Runs("Failed", t1), state: why.OK},
		"stop, and the next runs": {verb: steer.Stop, before: app().Runs("Running", t1), now: app().Runs("Running", t2), state: why.OK},
		"withdrawn":               {verb: steer.Stop, before: app().Operation(`{}`), now: app(), state: why.OK},
		"pause waits":             {verb: steer.Pause, before: app(), now: app(), state: why.Waiting},
		"pause is done":           {verb: steer.Pause, before: app(), now: app().Condition(apis.ConditionPausedWarning, "paused"), state: why.OK},
		"resume waits": {verb: steer.Resume, before: app(), now: app().Condition(apis.ConditionPausedWarning, "paused"),
			state: why.Waiting, says: "paused"},
		"resume is done":         {verb: steer.Resume, before: app(), now: app(), state: why.OK},
		"release waits":          {verb: steer.Release, before: app(), now: app(), old: w, fresh: w, state: why.Waiting},
		"release is done":        {verb: steer.Release, before: app(), now: app(), state: why.OK},
		"release is back":        {verb: steer.Release, undo: true, before: app(), now: app(), fresh: w, state: why.OK},
		"release is coming back": {verb: steer.Release, undo: true, before: app(), now: app(), state: why.Waiting},
		"adopt waits": {verb: steer.Adopt, before: app(), now: app().Condition(apis.ConditionPropagationError, "refused"),
			state: why.Waiting, says: "refused"},
		"adopt is done":      {verb: steer.Adopt, before: app(), now: app(), state: why.OK},
		"move has not begun": {verb: steer.Move, before: app(), now: app().Cluster("c2"), old: w, state: why.Waiting},
		"move, both have it": {verb: steer.Move, before: app(), now: app().Cluster("c2"), old: w, fresh: w, state: why.Waiting},
		"move is done":       {verb: steer.Move, before: app(), now: app().Cluster("c2"), fresh: w, state: why.OK, says: "c2"},
		"delete waits": {verb: steer.Delete, before: app(), now: app().Condition(apis.ConditionDeletionWarning, "c1"),
			state: why.Waiting, says: "c1"},
		"delete is done":        {verb: steer.Delete, before: app(), state: why.OK},
		"made again is another": {verb: steer.Delete, before: app(), now: app().UID("other"), state: why.OK},
		"deleted meanwhile":     {verb: steer.Sync, before: app(), state: why.Blocked, says: "deleted"},
	} {
		e := &steer.Effect{Verb: tc.verb, Undo: tc.undo, Before: tc.before.Obj(), Old: tc.old, New: tc.fresh}
		if tc.now != nil {
			e.Now = tc.now.Obj()
		}
		if p := e.Progress(); p.State != tc.state || !strings.Contains(p.Message, tc.says) || p.Message == "" {
			t.Errorf("%s: %+v", title, p)
		}
	}
}
