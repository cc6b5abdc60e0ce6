package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MulticlusterApplicationSetReport is the state of an ApplicationSet on the
// clusters of the ApplicationSet's Applications. The report has the name and
// the namespace of the ApplicationSet. Towline writes the report. No program
// reads instructions from the report.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=multiclusterapplicationsetreports,shortName=appsetreport;appsetreports,categories=argocd
// +kubebuilder:printcolumn:name="Clusters",type=string,JSONPath=`.statuses.summary.clusters`,description="Clusters of the ApplicationSet's Applications"
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.statuses.summary.synced`,description="Applications equal to Git"
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.statuses.summary.healthy`,description="Applications with health Healthy"
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.statuses.summary.inProgress`,description="Applications with health Progressing"
// +kubebuilder:printcolumn:name="Not-Healthy",type=string,JSONPath=`.statuses.summary.notHealthy`,description="Applications that are not healthy, progressing Applications included"
// +kubebuilder:printcolumn:name="Not-Synced",type=string,JSONPath=`.statuses.summary.notSynced`,description="Applications not known to equal Git"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Applications",type=string,priority=1,JSONPath=`.statuses.summary.applications`,description="Applications of the ApplicationSet"
// +kubebuilder:printcolumn:name="Unreachable",type=string,priority=1,JSONPath=`.statuses.summary.unreachable`,description="Applications on clusters that are not available"
// +kubebuilder:printcolumn:name="Ready",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether all Applications are synced and healthy"
type MulticlusterApplicationSetReport struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// statuses is the content of the report. For compatibility, the field is
	// plain, and not the status subresource.
	// +optional
	Statuses ReportStatuses `json:"statuses,omitempty,omitzero"`

	// status holds the standard conditions, for kubectl wait and similar tools.
	// The field is plain, and not the status subresource.
	// +optional
	Status ReportStatus `json:"status,omitempty,omitzero"`
}

// ReportStatus is the state of the ApplicationSet as standard conditions.
type ReportStatus struct {
	// conditions are Ready and Complete. Ready is True when every Application
	// is synced and healthy on a cluster that is available. Complete is True
	// when every Application has a row in the report. The observedGeneration of
	// the conditions is the generation of the report.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReportStatuses is the content of a report: the deployed resources, the state
// on every cluster, and the counts.
type ReportStatuses struct {
	// resources lists the resources of the ApplicationSet's Applications.
	// Resources with a failure and missing resources come first.
	// +optional
	Resources []ReportedResource `json:"resources,omitempty"`

	// summary counts the Applications by health and by sync status.
	// +optional
	Summary ReportSummary `json:"summary,omitempty,omitzero"`

	// clusterConditions has a row for every Application of the
	// ApplicationSet. Applications with problems come first. Within a group,
	// the order is by cluster and name. A cluster with several Applications of the
	// ApplicationSet has several rows.
	// +optional
	ClusterConditions []ClusterCondition `json:"clusterConditions,omitempty"`
}

// ReportSummary counts Applications. For compatibility, every count is a
// decimal number in a string.
type ReportSummary struct {
	// clusters is the number of different clusters in the report.
	// +optional
	Clusters string `json:"clusters,omitempty"`

	// applications is the number of Applications in the report, and the total
	// of the counts by status. applications equals clusters if every cluster
	// has a single Application of the ApplicationSet.
	// +optional
	Applications string `json:"applications,omitempty"`

	// synced is the number of Applications with the sync status Synced.
	// +optional
	Synced string `json:"synced,omitempty"`

	// notSynced is the number of Applications with a different sync status, or
	// without a sync status.
	// +optional
	NotSynced string `json:"notSynced,omitempty"`

	// healthy is the number of Applications with the health Healthy.
	// +optional
	Healthy string `json:"healthy,omitempty"`

	// notHealthy is the number of Applications with a different health, or
	// without a health. notHealthy includes the Applications in inProgress.
	// +optional
	NotHealthy string `json:"notHealthy,omitempty"`

	// inProgress is the number of Applications with the health Progressing.
	// +optional
	InProgress string `json:"inProgress,omitempty"`

	// unreachable is the number of Applications on unavailable clusters. The
	// counts by status include these Applications with the last known status.
	// +optional
	Unreachable string `json:"unreachable,omitempty"`

	// notCompared is the number of Applications without a comparison with Git
	// for long by the cluster's Argo CD. The counts by status include these
	// Applications with the last known status.
	// +optional
	NotCompared string `json:"notCompared,omitempty"`

	// omitted is the number of Applications without a row, because the report
	// would be too large. All counts include the omitted Applications.
	// +optional
	Omitted string `json:"omitted,omitempty"`

	// omittedResources is the number of resources missing from the list, because
	// the report would be too large.
	// +optional
	OmittedResources string `json:"omittedResources,omitempty"`
}

// ClusterCondition is a row of the report: an Application on a cluster.
type ClusterCondition struct {
	// cluster is the name of the ManagedCluster.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// app names the Application of the row, as
	// <hub namespace>/<hub name>/<cluster>/<ManifestWork name>.
	// +optional
	App string `json:"app,omitempty"`

	// healthStatus is the Application's health on the cluster, in Argo CD's
	// words: Healthy, Progressing, Degraded, Suspended, Missing or Unknown.
	// +optional
	HealthStatus string `json:"healthStatus,omitempty"`

	// syncStatus is the sync status from the cluster's Argo CD: Synced,
	// OutOfSync or Unknown.
	// +optional
	SyncStatus string `json:"syncStatus,omitempty"`

	// operationStatePhase is the phase of the latest sync operation on the
	// cluster: Running, Terminating, Succeeded, Failed or Error.
	// +optional
	OperationStatePhase string `json:"operationStatePhase,omitempty"`

	// operationStateStartedAt is the start time of the latest sync operation,
	// in RFC 3339.
	// +optional
	OperationStateStartedAt string `json:"operationStateStartedAt,omitempty"`

	// syncRevision is the last revision compared with the cluster by the
	// cluster's Argo CD.
	// +optional
	SyncRevision string `json:"syncRevision,omitempty"`

	// conditions are the errors and warnings of the Application, from the
	// cluster or from the delivery to the cluster.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`

	// resourceCounts counts the Application's resources by status. The field is
	// missing if no source of resources knows the Application.
	// +optional
	ResourceCounts *ResourceCounts `json:"resourceCounts,omitempty"`

	// observedAt is when the cluster first had the state in the row, if the
	// source knows the time.
	// +optional
	ObservedAt metav1.Time `json:"observedAt,omitempty,omitzero"`

	// source is the origin of the row: feedback, agent or search. The field is
	// empty until the first report of the cluster.
	// +optional
	Source string `json:"source,omitempty"`
}

// ResourceCounts counts the resources of an Application.
type ResourceCounts struct {
	// total is the number of all resources.
	// +optional
	Total int32 `json:"total,omitempty"`

	// synced is the number of resources equal to Git.
	// +optional
	Synced int32 `json:"synced,omitempty"`

	// outOfSync is the number of resources different from Git.
	// +optional
	OutOfSync int32 `json:"outOfSync,omitempty"`

	// healthy is the number of resources with the health Healthy.
	// +optional
	Healthy int32 `json:"healthy,omitempty"`

	// progressing is the number of resources with the health Progressing.
	// +optional
	Progressing int32 `json:"progressing,omitempty"`

	// degraded is the number of resources with the health Degraded.
	// +optional
	Degraded int32 `json:"degraded,omitempty"`

	// suspended is the number of suspended resources.
	// +optional
	Suspended int32 `json:"suspended,omitempty"`

	// missing is the number of resources missing on the cluster.
	// +optional
	Missing int32 `json:"missing,omitempty"`

	// unknown is the number of resources with an unknown health. The number
	// does not include resources of a kind without a health check.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// Condition is an error or a warning of an Application on a cluster.
type Condition struct {
	// type names the kind of error or warning, for example SyncError or
	// ClusterUnreachable.
	// +optional
	Type string `json:"type,omitempty"`

	// message is the text of the error or warning.
	// +optional
	Message string `json:"message,omitempty"`
}

// ReportedResource is a resource of an Application, with the failures of the
// resource.
type ReportedResource struct {
	ResourceRef `json:",inline"`

	// failing is the number of Applications with a failed or missing resource.
	// +optional
	Failing int32 `json:"failing,omitempty"`

	// failures describes up to ten of these Applications, sorted by cluster. A
	// large report has fewer failures.
	// +optional
	Failures []ResourceFailure `json:"failures,omitempty"`
}

// ResourceFailure is a failed or missing resource on a cluster.
type ResourceFailure struct {
	// cluster is the name of the ManagedCluster.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// state is Missing, SyncFailed or Degraded. Missing: the resource is not on
	// the cluster, but should be. SyncFailed: the last sync could not apply the
	// resource from Git. Degraded: the resource is on the cluster, but does not
	// work.
	// +optional
	State string `json:"state,omitempty"`

	// message explains the state, if the cluster's Argo CD gives a reason.
	// +optional
	Message string `json:"message,omitempty"`
}

// ResourceRef names a resource of an Application.
type ResourceRef struct {
	// apiVersion is the group and version of the resource, for example
	// apps/v1.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind is the kind of the resource.
	// +optional
	Kind string `json:"kind,omitempty"`

	// name is the name of the resource.
	// +optional
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the resource; empty for a cluster-scoped
	// resource.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// MulticlusterApplicationSetReportList is a list of
// MulticlusterApplicationSetReports.
//
// +kubebuilder:object:root=true
type MulticlusterApplicationSetReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the reports.
	Items []MulticlusterApplicationSetReport `json:"items"`
}
