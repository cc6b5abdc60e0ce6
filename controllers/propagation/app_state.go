package propagation

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// state is the state of an Application in the metrics.
type state string

// States of Applications. An Application has only the first state in the list that is true.
const (
	// stateOrphaned: the hub has lost the Application of the works.
	stateOrphaned state = "orphaned"
	// statePaused: an annotation pauses the Application.
	statePaused state = "paused"
	// stateDeleting: the Application is in deletion, or is gone while its works still exist.
	stateDeleting state = "deleting"
	// stateReleased: the Application is being released, or is released.
	stateReleased state = "released"
	// stateBlocked: the Application cannot or may not be sent in its present form.
	stateBlocked state = "blocked"
	// stateMoving: an earlier cluster still has the Application.
	stateMoving state = "moving"
	// stateStale: the cluster is not available, and the hub shows the last known status.
	stateStale state = "stale"
	// statePending: the cluster's work agent has not applied the Application yet.
	statePending state = "pending"
	// stateDelivered: the cluster's work agent has applied the present form of the Application.
	stateDelivered state = "delivered"
)

// waits reports whether an Application in the state waits for its cluster, for a user, or for the end of a pause.
func (s state) waits() bool { return s != "" && s != stateDelivered && s != stateReleased }

// appState is the state of an Application after its plan. The zero value means that no trace of the Application is left.
type appState struct {
	state state

	// reason is the reason for stateBlocked; empty in other states.
	reason string

	// since is the start of the state; zero for an unknown time.
	since time.Time
}

// appStateOf returns the state of an Application after the plan.
func appStateOf(p *delivery.Plan, f *delivery.Facts) appState {
	switch {
	case p.Intent == delivery.Orphan:
		return orphanState(f)
	case f.App == nil, p.Intent == delivery.Disown && f.Own == nil && len(f.Others) == 0:
		return appState{}
	case shows(p, apis.ConditionPausedWarning):
		return appState{state: statePaused, since: shownSince(p, f, apis.ConditionPausedWarning)}
	case p.Intent == delivery.End, p.Intent == delivery.HandBack:
		return appState{state: stateDeleting, since: f.App.DeletionTimestamp.Time}
	case p.Intent == delivery.Release, p.Intent == delivery.Disown:
		return appState{state: stateReleased, since: shownSince(p, f, apis.ConditionReleaseWarning)}
	case p.Blocked() != "":
		since := shownSince(p, f, apis.ConditionPropagationError, apis.ConditionPropagationForbiddenError)
		return appState{state: stateBlocked, reason: p.Blocked(), since: since}
	case shows(p, apis.ConditionMoveWarning):
		return appState{state: stateMoving, since: shownSince(p, f, apis.ConditionMoveWarning)}
	}
	switch cluster := f.Clusters[f.App.Cluster()]; {
	case cluster.Unreachable != "" && cluster.Since > 0:
		return appState{state: stateStale, since: time.Unix(cluster.Since, 0)}
	case cluster.Unreachable != "":
		return appState{state: stateStale}
	case !work.ReportOf(f.Own).Applied():
		return appState{state: statePending}
	}
	return appState{state: stateDelivered}
}

// orphanState returns the state of works whose Application the hub does not have.
func orphanState(f *delivery.Facts) appState {
	switch {
	case len(f.Others) == 0:
		return appState{}
	case !slices.ContainsFunc(f.Others, func(w *workv1.ManifestWork) bool { return !work.Released(w) }):
		return appState{state: stateReleased}
	case f.Loss.Lost:
		return appState{state: stateOrphaned, since: orphanedAt(f.Others)}
	}
	return appState{state: stateDeleting}
}

// orphanedAt returns the earliest time when a work was marked as lost; zero for none.
func orphanedAt(works []*workv1.ManifestWork) (first time.Time) {
	for _, w := range works {
		at, err := time.Parse(time.RFC3339, w.Annotations[apis.AnnotationOrphanedAt])
		if err == nil && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// applied reports whether the plan is to deliver the Application, and the work agent has applied the observed generation
// of the own work.
func applied(p *delivery.Plan, f *delivery.Facts) bool {
	return p.Intent == delivery.Deliver && work.ReportOf(f.Own).Applied()
}

// shows reports whether the plan has a condition of the type.
func shows(p *delivery.Plan, conditionType string) bool {
	return slices.ContainsFunc(p.Conditions, func(c delivery.Condition) bool { return c.Type == conditionType })
}

// shownSince returns the earliest start of the conditions, as shown by the Application after the plan; zero if the
// Application shows none of the conditions.
func shownSince(p *delivery.Plan, f *delivery.Facts, conditionTypes ...string) (first time.Time) {
	shown := f.App.Status.Conditions
	if p.Hub != nil && p.Hub.Conditions != nil {
		shown = p.Hub.Conditions
	}
	for _, t := range conditionTypes {
		i := argocd.IndexCondition(shown, t)
		if i < 0 || shown[i].LastTransitionTime == nil {
			continue
		}
		if at := shown[i].LastTransitionTime.Time; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}
