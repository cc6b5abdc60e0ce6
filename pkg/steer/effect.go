package steer

import (
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

// Effect is the visible effect of a request on the hub.
type Effect struct {
	// Verb is the requested verb. Undo is true for the undo of a release.
	Verb Verb
	Undo bool

	// Before is the Application before the write. Now is the current Application; nil if gone.
	Before, Now *argocd.Application

	// Old and New are the ManifestWorks with the names derived from Before and Now; nil for none.
	Old, New *workv1.ManifestWork
}

// Progress is the progress of a request: why.OK for done, why.Blocked for failed, why.Waiting otherwise.
type Progress struct {
	State   why.State
	Message string
}

// NeedsWorks returns whether ManifestWorks show the effect of a verb.
func (v Verb) NeedsWorks() bool { return v == Release || v == Move }

// Progress returns the progress of the request.
func (e *Effect) Progress() Progress {
	if e.Now == nil || e.Now.UID != e.Before.UID {
		if e.Verb == Delete {
			return Progress{why.OK, "gone from the hub"}
		}
		return Progress{why.Blocked, "someone deleted the Application in the meantime"}
	}
	return rules[e.Verb].effect(e)
}

// until returns done if holds is true. Otherwise the request waits, with Towline's message from the Application if
// there is one, or with waits.
func (e *Effect) until(holds bool, done, waits string) Progress {
	if holds {
		return Progress{why.OK, done}
	}
	for _, c := range e.Now.Status.Conditions {
		if r := apis.ConditionRuleOf(c.Type); r.Owner == apis.OwnerPropagation {
			return Progress{why.Waiting, c.Message}
		}
	}
	return Progress{why.Waiting, waits}
}

func synced(e *Effect) Progress {
	s, before := e.Now.Status.OperationState, e.Before.Status.OperationState
	fresh := s != nil && (before == nil || s.StartedAt != before.StartedAt)
	switch {
	case e.Now.Operation != nil || !fresh:
		if m := condition(e.Now, apis.ConditionPropagationForbiddenError); m != "" {
			return Progress{why.Blocked, m}
		}
		return e.until(false, "", "the cluster has not taken the operation yet")
	case s.Running():
		return Progress{why.Waiting, strings.TrimSuffix("the operation runs: "+s.Message, ": ")}
	case s.Phase == "Succeeded":
		return Progress{why.OK, "the operation succeeded: " + s.Message}
	}
	return Progress{why.Blocked, "the operation ended with " + s.Phase + ": " + s.Message}
}

func refreshed(e *Effect) Progress {
	if e.Now.Refresh() != "" {
		return e.until(false, "", "the cluster's Argo CD has not answered yet")
	}
	if m := condition(e.Now, apis.ConditionRefreshWarning); m != "" {
		return Progress{why.Blocked, m}
	}
	return Progress{why.OK, "compared at " + e.Now.Status.ReconciledAt}
}

func stopped(e *Effect) Progress {
	if before := e.Before.Status.OperationState; before.Running() {
		now := e.Now.Status.OperationState
		return e.until(!now.Running() || now.StartedAt != before.StartedAt, "the operation has ended", "the cluster has not stopped the operation yet")
	}
	return e.until(e.Now.Operation == nil, "the operation is gone", "Towline has not taken the operation back yet")
}

func paused(e *Effect) Progress {
	m := condition(e.Now, apis.ConditionPausedWarning)
	return e.until(m != "", m, "Towline has not confirmed the pause yet")
}

func resumed(e *Effect) Progress {
	m := condition(e.Now, apis.ConditionPausedWarning)
	return e.until(m == "", "Towline updates the cluster again", m)
}

func released(e *Effect) Progress {
	if e.Undo {
		return e.until(e.New != nil && condition(e.Now, apis.ConditionReleaseWarning) == "", "Towline manages the Application again",
			"the Application has no ManifestWork yet")
	}
	return e.until(e.New == nil, "released: everything stays on "+clusterOf(e.Now), "the cluster has not released the Application yet")
}

func adopted(e *Effect) Progress {
	m := condition(e.Now, apis.ConditionPropagationError)
	return e.until(m == "", "the existing Application is no obstacle any more", m)
}

func moved(e *Effect) Progress {
	return e.until(e.New != nil && e.Old == nil, "moved to "+clusterOf(e.Now), "the Application is still on "+clusterOf(e.Before))
}

func deleted(e *Effect) Progress {
	return e.until(false, "", "the cluster has not removed the Application yet")
}
