package placement

import (
	"cmp"
	"fmt"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// patience is how often a cluster is put right at once.
	patience = 3

	// firstWait is how long the next time waits then, and lastWait how long it does at most. Each waits twice as long as the one before.
	firstWait = 10 * time.Second
	lastWait  = 10 * time.Minute
)

// Brake is what is remembered of the cluster that an Application was given: another who writes the same annotation, such as a tool that
// applies it from Git, would have it moved for ever. The zero value knows of none.
type Brake struct {
	// Cluster is the cluster that was written, how often it was, and when last.
	Cluster string
	Times   int
	At      time.Time
}

// Wrote is the brake after that cluster was written.
func (b Brake) Wrote(cluster string, now time.Time) Brake {
	if b.Cluster != cluster || b.Over(now) {
		b = Brake{Cluster: cluster}
	}
	b.Times, b.At = b.Times+1, now
	return b
}

// wait is how long the next write of the same cluster has to be after the last one.
func (b Brake) wait() time.Duration {
	if b.Times <= patience {
		return 0
	}
	return min(firstWait<<min(b.Times-patience-1, 10), lastWait)
}

// Over tells whether what is remembered does not count any more: nobody else has written for long.
func (b Brake) Over(now time.Time) bool { return now.Sub(b.At) >= 2*lastWait }

// Apply is the plan with the brake on it, and after how long to look again; 0 for never. Where another has undone what was written again
// and again, the Application stays where that one has put it for ever longer, and says so. A new choice of the Placement is nobody's to hold.
func (b Brake) Apply(plan Plan, app *argocd.Application, now time.Time) (Plan, time.Duration) {
	chosen := cmp.Or(plan.Cluster, app.Cluster()) // an empty plan leaves what is there, as it is chosen
	if b.Times <= patience || b.Over(now) || plan.Warning != "" || !Follows(app) || chosen != b.Cluster {
		return plan, 0
	}
	plan.Warning = fmt.Sprintf("Placement %s/%s has chosen cluster %s, but another client keeps changing the annotation %s. Towline corrects it "+
		"less and less often. Find that client in metadata.managedFields and stop it from setting the annotation, or remove the annotation "+
		"%s", app.Namespace, app.Placement(), b.Cluster, apis.AnnotationCluster, apis.AnnotationPlacement)
	if wait := b.At.Add(b.wait()).Sub(now); plan.Cluster != "" && wait > 0 {
		plan.Cluster = ""
		return plan, wait
	}
	return plan, b.At.Add(2 * lastWait).Sub(now)
}
