package report

import (
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// Published returns the part of a report that an API server stores with the CRD of other products (Advanced Cluster
// Management). Their schema has no status, and fewer fields in statuses. The API server silently drops all other
// fields.
func Published(r *v1alpha1.MulticlusterApplicationSetReport) *v1alpha1.MulticlusterApplicationSetReport {
	out := &v1alpha1.MulticlusterApplicationSetReport{TypeMeta: r.TypeMeta, ObjectMeta: *r.ObjectMeta.DeepCopy()}
	s := &r.Statuses.Summary
	out.Statuses.Summary = v1alpha1.ReportSummary{
		Clusters: s.Clusters, Synced: s.Synced, NotSynced: s.NotSynced, Healthy: s.Healthy, NotHealthy: s.NotHealthy, InProgress: s.InProgress,
	}
	for _, ref := range r.Statuses.Resources {
		out.Statuses.Resources = append(out.Statuses.Resources, v1alpha1.ReportedResource{ResourceRef: ref.ResourceRef})
	}
	for _, row := range r.Statuses.ClusterConditions {
		kept := v1alpha1.ClusterCondition{
			Cluster: row.Cluster, App: row.App, HealthStatus: row.HealthStatus, SyncStatus: row.SyncStatus,
			OperationStatePhase: row.OperationStatePhase, OperationStateStartedAt: row.OperationStateStartedAt, SyncRevision: row.SyncRevision,
		}
		for _, c := range row.Conditions {
			kept.Conditions = append(kept.Conditions, v1alpha1.Condition{Type: c.Type, Message: c.Message})
		}
		out.Statuses.ClusterConditions = append(out.Statuses.ClusterConditions, kept)
	}
	return out
}
