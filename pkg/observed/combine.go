package observed

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Origin names the source of each part of Facts; empty for a part that nobody knows.
type Origin struct {
	Health, Sync, Operation, Reconciled, Conditions, Resources string
}

// Combine is what a richer and a poorer source know together; either may be nil. Each part is the richer source's
// where it knows that part, and the poorer one's where it does not, or where the poorer one has seen the cluster's
// Application later.
//
// Of two that have seen different Applications, as after the cluster was made anew, the poorer one counts alone:
// that is the work agent's feedback, and it is the work agent that made the one which is there.
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

// combination is two sources' facts on their way into one. It starts as a copy of the richer one's.
type combination struct {
	out        Facts
	rich, poor *Facts

	// newer is set when the poorer source has seen the Application later, and says something else of it.
	newer bool
}

// takes decides on one part by who knows it.
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

// operation leaves the richer source's account of an operation where the newer one is of the same operation in the
// same state: it says less of what that operation did.
func (c *combination) operation() {
	rich, poor := c.rich.Status.OperationState, c.poor.Status.OperationState
	if c.takes(rich != nil || c.rich.Complete, poor != nil || c.poor.Complete) && !sameState(rich, poor) {
		c.out.Status.OperationState, c.out.Origin.Operation = poor, c.poor.Origin.Operation
	}
}

// conditions are one source's whole list where there is one, and otherwise what both have seen.
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
	// Only the work agent tells of it.
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

// compared drops since when nothing was compared, where the other source shows that something was: it tells of a later
// comparison, or has seen a change later.
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

// withHealth are all resources with the health of those that a source knows which does not know all. That source, the work
// agent's feedback, names them by kind and name.
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
			continue // the source of all does not list its kind, or has not seen it yet
		}
		all[at].Health = some[i].Health
	}
	return all
}

// attributed are facts that name the source of each part. Those that were put together already do.
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

// allConditions tells whether a condition that is not in Status is not there on the cluster either.
func (f *Facts) allConditions() bool { return f.Complete || f.ConditionsComplete }

// union are the first conditions, and those of the others whose type is not among them.
func union(first, others []argocd.Condition) []argocd.Condition {
	out := slices.Clone(first)
	for _, o := range others {
		if argocd.IndexCondition(first, o.Type) < 0 {
			out = append(out, o)
		}
	}
	return out
}

// isOther tells whether two sources have seen different Applications of the same name. Their versions are numbers of
// different counters then, perhaps of different etcds.
func (f *Facts) isOther(g *Facts) bool {
	return g != nil && f.UID != "" && g.UID != "" && f.UID != g.UID
}

// isNewer tells whether f was seen later than g, or as late as can be told. resourceVersions of one Application, which
// Kubernetes has declared to be comparable numbers (1.35), tell exactly; the work agent reports them only while somebody waits
// for what changes as often. Otherwise the times count at which both were read, by clocks of the same cluster.
func (f *Facts) isNewer(g *Facts) bool {
	if order, err := resourceversion.CompareResourceVersion(f.Version, g.Version); err == nil {
		return order > 0
	}
	return !f.ReadAt.IsZero() && !g.ReadAt.IsZero() && !f.ReadAt.Before(&g.ReadAt)
}
