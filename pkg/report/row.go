package report

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// maxMessage is the maximum size of a message in a row, in bytes. The hub Application has the full message.
	maxMessage = 1024

	// maxCluster limits the length of a cluster name from an annotation.
	maxCluster = 253
)

// Entry is one Application in a Set.
type Entry struct {
	// Row is the Application's row.
	Row v1alpha1.ClusterCondition

	// Resources are the resources of the Application.
	Resources []v1alpha1.ResourceRef

	// Failures are the failed or missing resources.
	Failures []Failure

	// Detailed is true if Resources is complete. Without Detailed, the row's resource counts refer to the resources of
	// an earlier report.
	Detailed bool
}

// App names an Application in a report, for people and for comparisons. No code of Towline relies on its parts.
func App(app *argocd.Application) string {
	return strings.Join([]string{app.Namespace, app.Name, cluster(app), work.Name(app)}, "/")
}

func cluster(app *argocd.Application) string { return feedback.Clean(app.Cluster(), maxCluster) }

// Observe returns the Application's entry from the observation seen. seen is nil while no source has answered. Unknown
// fields keep the value of before, if before is about the same work on the same cluster. before may be nil. unreachable
// is the reason why the cluster is unreachable; empty if the cluster is reachable. A row without a change keeps its
// source and the time of its first observation.
func Observe(app *argocd.Application, seen *observed.Facts, unreachable string, before *Entry) Entry {
	out := Entry{Row: v1alpha1.ClusterCondition{Cluster: cluster(app), App: App(app)}}
	if before != nil && before.Row.App == out.Row.App {
		out = *before
		out.Row.Conditions = nil
	}
	if seen == nil {
		seen = &observed.Facts{}
	} else {
		out.Row.Source, out.Row.ObservedAt = seen.Source, seen.ObservedAt
	}
	state(&out.Row, seen)
	if seen.Detailed {
		out.Detailed = true
		out.Failures = failuresOf(&seen.Status)
		out.Resources, out.Row.ResourceCounts = refs(seen.Status.Resources, out.Failures), counts(seen.Status.Resources)
	}
	known := &v1alpha1.ClusterCondition{}
	if before != nil && before.Row.App == out.Row.App {
		known = &before.Row
	}
	out.Row.Conditions = slices.Concat(clusterConditions(known, seen), hubConditions(app, unreachable))
	slices.SortStableFunc(out.Row.Conditions, func(a, b v1alpha1.Condition) int { return strings.Compare(a.Type, b.Type) })
	if before != nil && sameRow(&before.Row, &out.Row) {
		out.Row = before.Row
	}
	return out
}

// state copies health, sync and operation from the observation.
func state(row *v1alpha1.ClusterCondition, seen *observed.Facts) {
	s := &seen.Status
	if s.Health.Status != "" {
		row.HealthStatus = s.Health.Status
	}
	if s.Sync != nil {
		if r := s.Sync.At(); r != "" || seen.Complete || row.SyncStatus != s.Sync.Status {
			row.SyncRevision = r
		}
		row.SyncStatus = s.Sync.Status
	}
	if s.OperationState != nil {
		row.OperationStatePhase, row.OperationStateStartedAt = s.OperationState.Phase, s.OperationState.StartedAt
	} else if seen.Complete {
		row.OperationStatePhase, row.OperationStateStartedAt = "", ""
	}
}

// sameRow returns whether two rows are equal without source and time of observation.
func sameRow(a, b *v1alpha1.ClusterCondition) bool {
	x, y := *a, *b
	x.Source, y.Source, x.ObservedAt, y.ObservedAt = "", "", metav1.Time{}, metav1.Time{}
	if len(x.Conditions)+len(y.Conditions) == 0 {
		x.Conditions, y.Conditions = nil, nil
	}
	return reflect.DeepEqual(x, y)
}
