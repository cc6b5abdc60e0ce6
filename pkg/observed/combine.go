package observed

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Origin names the source of each part of Facts; empty for an unknown part.
type Origin struct {
	Health, Sync, Operation, Reconciled, Conditions, Resources string
}

// Combine merges the facts of a richer and a poorer source; either may be nil. Each part comes from the richer source
// if the richer source knows the part. The poorer source replaces the part if the poorer source has seen the
// cluster's Application later.
//
// If the two sources have seen different Applications, as after a new installation of the cluster, only the poorer
// source counts. The poorer source is the work agent's feedback, and the work agent created the present Application.
func Combine(rich, poor *Facts) *Facts {
	switch {
	case rich == nil || rich.isOther(poor):
		return attributed(poor)
	case poor == nil:
		return attributed(rich)
	}
	rich, poor = attributed(rich), attributed(poor)
	c := combination{out: *rich, rich: rich, poor: poor, newer: poor.isNewer(rich) && poor.differs(rich)}
	c.state()
	c.operation()
	c.conditions()
	c.resources()
	c.compared()
	if c.newer {
		c.out.Version, c.out.ObservedAt, c.out.ReadAt, c.out.Complete = poor.Version, poor.ObservedAt, poor.ReadAt, poor.Complete
	}
	return &c.out
}

// combination is an unfinished merge of the facts of two sources. out starts as a copy of rich.
type combination struct {
	out        Facts
	rich, poor *Facts

	// newer is true if the poorer source has seen the Application later, and reports a difference.
	newer bool
}

// takes reports whether a part comes from the poorer source, given which source knows the part.
func (c *combination) takes(rich, poor bool) bool { return poor && (c.newer || !rich) }

func (c *combination) state() {
	out, rich, poor := &c.out, &c.rich.Status, &c.poor.Status
	if c.takes(rich.Health.Status != "", poor.Health.Status != "") {
		out.Status.Health, out.Origin.Health = poor.Health, c.poor.Origin.Health
	}
	if c.takes(rich.Sync != nil, poor.Sync != nil) {
		out.Status.Sync, out.Origin.Sync = poor.Sync, c.poor.Origin.Sync
	}
	if c.takes(rich.SourceType != "" || len(rich.SourceTypes) > 0, poor.SourceType != "" || len(poor.SourceTypes) > 0) {
		out.Status.SourceType, out.Status.SourceTypes = poor.SourceType, poor.SourceTypes
	}
	if poor.ReconciledAt > rich.ReconciledAt {
		out.Status.ReconciledAt, out.Origin.Reconciled = poor.ReconciledAt, c.poor.Origin.Reconciled
	}
	out.Compared = c.rich.Compared || c.poor.Compared
	out.Uncompared = max(c.rich.Uncompared, c.poor.Uncompared)
}

// operation keeps the richer source's report if both reports are about the same operation in the same state. The
// newer report of the poorer source has fewer details.
func (c *combination) operation() {
	rich, poor := c.rich.Status.OperationState, c.poor.Status.OperationState
	if c.takes(rich != nil || c.rich.Complete, poor != nil || c.poor.Complete) && !sameState(rich, poor) {
		c.out.Status.OperationState, c.out.Origin.Operation = poor, c.poor.Origin.Operation
	}
}

// conditions takes the complete list of a source if available, and otherwise merges the lists of both sources.
func (c *combination) conditions() {
	rich, poor := c.rich.Status.Conditions, c.poor.Status.Conditions
	richAll, poorAll := c.rich.allConditions(), c.poor.allConditions()
	c.out.ConditionsComplete = poorAll || richAll && !c.newer
	switch {
	case c.takes(richAll, poorAll) && (c.newer || len(rich) == 0):
		c.out.Status.Conditions, c.out.Origin.Conditions = poor, c.poor.Origin.Conditions
	case c.newer && len(poor) > 0:
		c.out.Status.Conditions, c.out.Origin.Conditions = union(poor, rich), c.poor.Origin.Conditions
	case !richAll && len(poor) > 0:
		c.out.Status.Conditions = union(rich, poor)
	}
	// Only the work agent reports hydration.
	c.out.Hydrating = c.rich.Hydrating || c.poor.Hydrating
	if i := argocd.IndexCondition(poor, apis.ConditionHydrationError); i >= 0 {
		c.out.Status.Conditions = union(c.out.Status.Conditions, poor[i:i+1])
	}
}

func (c *combination) resources() {
	if c.takes(c.rich.Detailed, c.poor.Detailed) {
		c.out.Status.Resources, c.out.Status.Summary = c.poor.Status.Resources, c.poor.Status.Summary
		if !c.rich.Detailed && !c.newer {
			c.out.Status.Resources = withHealth(c.poor.Status.Resources, c.rich.Status.Resources)
		}
		c.out.Detailed, c.out.Origin.Resources, c.out.StaleSince = true, c.poor.Origin.Resources, c.poor.StaleSince
		return
	}
	switch rich, poor := c.rich.Status.Resources, c.poor.Status.Resources; {
	case c.poor.Detailed:
	case c.rich.Detailed && c.newer:
		c.out.Status.Resources = withHealth(rich, poor)
	case !c.rich.Detailed && c.takes(len(rich) > 0, len(poor) > 0):
		c.out.Status.Resources = poor
	}
}

// compared clears NotComparedSince if the other source proves a comparison: a later comparison, or a later change of
// the Application.
func (c *combination) compared() {
	since := c.out.NotComparedSince
	if since.IsZero() {
		return
	}
	at, err := time.Parse(time.RFC3339, c.out.Status.ReconciledAt)
	if c.newer || err == nil && at.After(since.Time) {
		c.out.NotComparedSince = metav1.Time{}
	}
}

// withHealth returns all resources, with the health from a source with a partial list. The partial list comes from
// the work agent's feedback, and has kinds and names only.
func withHealth(all, some []argocd.ResourceStatus) []argocd.ResourceStatus {
	if len(some) == 0 {
		return all
	}
	all = slices.Clone(all)
	for i := range some {
		at := slices.IndexFunc(all, func(r argocd.ResourceStatus) bool {
			return r.Kind == some[i].Kind && r.Name == some[i].Name
		})
		if at < 0 {
			continue // the source of all does not list the kind, or has not seen the resource yet
		}
		all[at].Health = some[i].Health
	}
	return all
}

// attributed returns facts with the source of each part. Merged facts have the sources already.
func attributed(f *Facts) *Facts {
	if f == nil || f.Origin != (Origin{}) {
		return f
	}
	out, s := *f, &f.Status
	for _, part := range []struct {
		known bool
		name  *string
	}{
		{s.Health.Status != "", &out.Origin.Health},
		{s.Sync != nil, &out.Origin.Sync},
		{s.OperationState != nil || f.Complete, &out.Origin.Operation},
		{s.ReconciledAt != "", &out.Origin.Reconciled},
		{len(s.Conditions) > 0 || f.allConditions(), &out.Origin.Conditions},
		{f.Detailed, &out.Origin.Resources},
	} {
		if part.known {
			*part.name = f.Source
		}
	}
	return &out
}

// allConditions reports whether a condition missing in Status is also missing on the cluster.
func (f *Facts) allConditions() bool { return f.Complete || f.ConditionsComplete }

// union returns the first conditions, and the other conditions with further types.
func union(first, others []argocd.Condition) []argocd.Condition {
	out := slices.Clone(first)
	for _, o := range others {
		if argocd.IndexCondition(first, o.Type) < 0 {
			out = append(out, o)
		}
	}
	return out
}

// isOther reports whether two sources have seen different Applications of the same name. The versions are then
// numbers of different counters, perhaps of different etcds.
func (f *Facts) isOther(g *Facts) bool {
	return g != nil && f.UID != "" && g.UID != "" && f.UID != g.UID
}

// isNewer reports whether f was seen later than g, or cannot be told to be older. resourceVersions of an Application
// decide exactly, because Kubernetes has declared the versions to be comparable numbers (1.35). The work agent
// reports a version only while a user waits for fields that change as often. Otherwise the times of the two readings
// decide, by clocks of the same cluster.
func (f *Facts) isNewer(g *Facts) bool {
	if order, err := resourceversion.CompareResourceVersion(f.Version, g.Version); err == nil {
		return order > 0
	}
	return !f.ReadAt.IsZero() && !g.ReadAt.IsZero() && !f.ReadAt.Before(&g.ReadAt)
}
