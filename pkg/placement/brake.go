package placement

import (
	"cmp"
	"fmt"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// patience is the number of immediate corrections of a cluster.
	patience = 3

	// firstWait is the wait before the next correction, and lastWait the longest wait. Each wait is twice as long as
	// the wait before.
	firstWait = 10 * time.Second
	lastWait  = 10 * time.Minute
)

// Brake stores the corrections of an Application's cluster. Without the Brake, a client that keeps writing the same
// annotation would move the Application forever. An example is a tool that applies the annotation from Git. The zero
// value means no corrections.
type Brake struct {
	// Cluster is the written cluster, Times the number of writes, and At the time of the last write.
	Cluster string
	Times   int
	At      time.Time
}

// Wrote returns the brake after a write of the cluster.
func (b Brake) Wrote(cluster string, now time.Time) Brake {
	if b.Cluster != cluster || b.Over(now) {
		b = Brake{Cluster: cluster}
	}
	b.Times, b.At = b.Times+1, now
	return b
}

// wait returns the minimum time between the last write and the next write of the same cluster.
func (b Brake) wait() time.Duration {
	if b.Times <= patience {
		return 0
	}
	return min(firstWait<<min(b.Times-patience-1, 10), lastWait)
}

// Over reports whether the brake is out of date: no other client has written for a long time.
func (b Brake) Over(now time.Time) bool { return now.Sub(b.At) >= 2*lastWait }

// Apply returns the plan with the brake applied, and the time until the next check; 0 for never. If another client
// reverts the correction again and again, the Application keeps the client's cluster for growing intervals, with a
// warning. The brake never delays a new choice of the Placement.
func (b Brake) Apply(plan Plan, app *argocd.Application, now time.Time) (Plan, time.Duration) {
	chosen := cmp.Or(plan.Cluster, app.Cluster()) // an empty plan keeps the present cluster, equal to the chosen cluster
	if b.Times <= patience || b.Over(now) || plan.Warning != "" || !Follows(app) || chosen != b.Cluster {
		return plan, 0
	}
	plan.Warning = fmt.Sprintf("Placement %s/%s has chosen cluster %s, but another client keeps changing the annotation %s. "+
		"Towline corrects the annotation "+
		"less and less often. Find that client in metadata.managedFields and stop it from setting the annotation, or remove the annotation "+
		"%s", app.Namespace, app.Placement(), b.Cluster, apis.AnnotationCluster, apis.AnnotationPlacement)
	if wait := b.At.Add(b.wait()).Sub(now); plan.Cluster != "" && wait > 0 {
		plan.Cluster = ""
		return plan, wait
	}
	return plan, b.At.Add(2 * lastWait).Sub(now)
}
