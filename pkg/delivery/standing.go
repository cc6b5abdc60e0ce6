package delivery

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// State is what an Application counts as in the metrics.
type State string

// States of Applications. An Application has one at a time: the first of them that is true.
const (
	// Orphaned is for works whose Application the hub has lost.
	Orphaned State = "orphaned"
	// PausedState is for an Application that an annotation pauses.
	PausedState State = "paused"
	// Deleting is for an Application that is being deleted, or that is gone while its works are not.
	Deleting State = "deleting"
	// ReleasedState is for an Application that is being released, or has been.
	ReleasedState State = "released"
	// Blocked is for an Application that cannot be sent as it is, or may not be.
	Blocked State = "blocked"
	// Moving is for an Application that an earlier cluster still has.
	Moving State = "moving"
	// Stale is for an Application whose cluster is not available: the hub shows what was known last.
	Stale State = "stale"
	// Pending is for an Application that its cluster's work agent has not applied yet.
	Pending State = "pending"
	// Delivered is for an Application that its cluster's work agent has applied as it is.
	Delivered State = "delivered"
)

// Waits tells whether an Application in the state waits for something: for its cluster, for a person, or for the end of a pause.
func (s State) Waits() bool { return s != "" && s != Delivered && s != ReleasedState }

// Standing is how an Application stands once a plan for it has been applied. The zero value is for one that nothing is left of.
type Standing struct {
	// State is what it counts as; empty where nothing is left of it.
	State State

	// Reason is why it is Blocked; empty in other states.
	Reason string

	// Since is since when; zero where no object tells.
	Since time.Time

	// Applied is set when the work agent has applied the own work in the version that was observed.
	Applied bool
}

// Standing is how the Application stands after the plan.
func (p *Plan) Standing(f *Facts) Standing {
	out := p.standing(f)
	out.Applied = p.Intent == Deliver && f.Own != nil && applied(f.Own)
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
		return Standing{State: Deleting, Since: deletedAt(f.App)}
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
	case f.Own == nil || !applied(f.Own):
		return Standing{State: Pending}
	}
	return Standing{State: Delivered}
}

// orphanStanding is how the works of an Application stand that the hub does not have.
func orphanStanding(f *Facts) Standing {
	held := func(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationOrphanedAt] != "" }
	switch {
	case len(f.Others) == 0:
		return Standing{}
	case !slices.ContainsFunc(f.Others, func(w *workv1.ManifestWork) bool { return !work.Released(w) }):
		return Standing{State: ReleasedState}
	case f.Loss.Lost, f.Loss.Held && slices.ContainsFunc(f.Others, held):
		return Standing{State: Orphaned, Since: orphanedAt(f.Others)}
	}
	return Standing{State: Deleting}
}

// orphanedAt is the earliest time at which one of the works was marked as one whose Application is lost; zero for none.
func orphanedAt(ws works) (first time.Time) {
	for _, w := range ws {
		at, err := time.Parse(time.RFC3339, w.Annotations[apis.AnnotationOrphanedAt])
		if err == nil && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// tells tells whether the plan shows a condition of that type.
func (p *Plan) tells(conditionType string) bool {
	return slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == conditionType })
}

// since is since when the Application shows one of the conditions, by the Application itself once the plan has been applied; zero
// where it shows none of them.
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

func deletedAt(app *argocd.Application) time.Time {
	if app.DeletionTimestamp == nil {
		return time.Time{}
	}
	return app.DeletionTimestamp.Time
}

func unix(seconds int64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
