package delivery

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// State is the state of an Application in the metrics.
type State string

// States of Applications. An Application has only the first state in the list that is true.
const (
	// Orphaned: the hub has lost the Application of the works.
	Orphaned State = "orphaned"
	// PausedState: an annotation pauses the Application.
	PausedState State = "paused"
	// Deleting: the Application is in deletion, or is gone while its works still exist.
	Deleting State = "deleting"
	// ReleasedState: the Application is being released, or is released.
	ReleasedState State = "released"
	// Blocked: the Application cannot or may not be sent in its present form.
	Blocked State = "blocked"
	// Moving: an earlier cluster still has the Application.
	Moving State = "moving"
	// Stale: the cluster is not available, and the hub shows the last known status.
	Stale State = "stale"
	// Pending: the cluster's work agent has not applied the Application yet.
	Pending State = "pending"
	// Delivered: the cluster's work agent has applied the present form of the Application.
	Delivered State = "delivered"
)

// Waits reports whether an Application in the state waits for its cluster, for a user, or for the end of a pause.
func (s State) Waits() bool { return s != "" && s != Delivered && s != ReleasedState }

// Standing is the state of an Application after its plan. The zero value means that no trace of the Application is
// left.
type Standing struct {
	// State is the state; empty if no trace of the Application is left.
	State State

	// Reason is the reason for Blocked; empty in other states.
	Reason string

	// Since is the start of the state; zero for an unknown time.
	Since time.Time

	// Applied is true if the work agent has applied the observed generation of the own work.
	Applied bool
}

// Standing returns the state of the Application after the plan.
func (p *Plan) Standing(f *Facts) Standing {
	out := p.standing(f)
	out.Applied = p.Intent == Deliver && f.Own != nil && work.ReportOf(f.Own).Applied()
	return out
}

func (p *Plan) standing(f *Facts) Standing {
	if p.Intent == Orphan {
		return orphanStanding(f)
	}
	if f.App == nil || p.Intent == Disown && f.Own == nil && len(f.Others) == 0 {
		return Standing{}
	}
	if p.tells(paused) {
		return Standing{State: PausedState, Since: p.since(f, paused)}
	}
	switch p.Intent {
	case End, HandBack:
		return Standing{State: Deleting, Since: f.App.DeletionTimestamp.Time}
	case Release, Disown:
		return Standing{State: ReleasedState, Since: p.since(f, releasing)}
	}
	if reason := p.Blocked(); reason != "" {
		return Standing{State: Blocked, Reason: reason, Since: p.since(f, problem, forbidden)}
	}
	cluster := f.Clusters[f.App.Cluster()]
	switch {
	case p.tells(moving):
		return Standing{State: Moving, Since: p.since(f, moving)}
	case cluster.Unreachable != "":
		return Standing{State: Stale, Since: unix(cluster.Since)}
	case f.Own == nil || !work.ReportOf(f.Own).Applied():
		return Standing{State: Pending}
	}
	return Standing{State: Delivered}
}

// orphanStanding returns the state of works whose Application the hub does not have.
func orphanStanding(f *Facts) Standing {
	switch {
	case len(f.Others) == 0:
		return Standing{}
	case !slices.ContainsFunc(f.Others, func(w *workv1.ManifestWork) bool { return !work.Released(w) }):
		return Standing{State: ReleasedState}
	case f.Loss.Lost:
		return Standing{State: Orphaned, Since: orphanedAt(f.Others)}
	}
	return Standing{State: Deleting}
}

// orphanedAt returns the earliest time when a work was marked as lost; zero for none.
func orphanedAt(ws works) (first time.Time) {
	for _, w := range ws {
		at, err := time.Parse(time.RFC3339, w.Annotations[apis.AnnotationOrphanedAt])
		if err == nil && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// tells reports whether the plan has a condition of the type.
func (p *Plan) tells(conditionType string) bool {
	return slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == conditionType })
}

// since returns the earliest start of the conditions, as shown by the Application after the plan; zero if the
// Application shows none of the conditions.
func (p *Plan) since(f *Facts, conditionTypes ...string) (first time.Time) {
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

func unix(seconds int64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
