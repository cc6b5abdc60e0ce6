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
	// maxMessage is how many bytes of a message a row shows. The hub Application has the rest.
	maxMessage = 1024

	// maxCluster bounds what an annotation may pass off as the name of a cluster.
	maxCluster = 253
)

// Entry is one Application in a Set.
type Entry struct {
	// Row is the Application's row.
	Row v1alpha1.ClusterCondition

	// Resources are what the Application deploys.
	Resources []v1alpha1.ResourceRef

	// Failures are those of them that failed or are missing.
	Failures []Failure

	// Detailed is set when Resources is all there is. When it is not, a row that counts resources counts those
	// that an earlier report listed.
	Detailed bool
}

// App names an Application in a report. It is for people and for comparisons; nothing takes it apart again.
func App(app *argocd.Application) string {
	return strings.Join([]string{app.Namespace, app.Name, cluster(app), work.Name(app)}, "/")
}

func cluster(app *argocd.Application) string { return feedback.Clean(app.Cluster(), maxCluster) }

// Observe is the Application's entry by what is seen of it now; seen is nil while no source has answered. What is not
// known now stays as before says, which may be nil, as long as that is about the same work on the same cluster.
// unreachable is why nothing can be heard of the cluster; empty when that is not so. A row that says the same as before
// stays as it was, with the time at which that was first seen.
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

// state takes over what was seen of health, sync and operation.
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

// sameRow tells whether two rows say the same, whoever saw it and when.
func sameRow(a, b *v1alpha1.ClusterCondition) bool {
	x, y := *a, *b
	x.Source, y.Source, x.ObservedAt, y.ObservedAt = "", "", metav1.Time{}, metav1.Time{}
	if len(x.Conditions)+len(y.Conditions) == 0 {
		x.Conditions, y.Conditions = nil, nil
	}
	return reflect.DeepEqual(x, y)
}
