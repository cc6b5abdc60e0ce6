package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MulticlusterApplicationSetReport tells what became of an ApplicationSet on
// the clusters that its Applications were sent to. It has the name and the
// namespace of the ApplicationSet. Towline writes it; nothing reads
// instructions from it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=multiclusterapplicationsetreports,shortName=appsetreport;appsetreports,categories=argocd
// +kubebuilder:printcolumn:name="Clusters",type=string,JSONPath=`.statuses.summary.clusters`,description="Clusters that the ApplicationSet's Applications were sent to"
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.statuses.summary.synced`,description="Applications that run what is in Git"
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.statuses.summary.healthy`,description="Applications whose resources all work"
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.statuses.summary.inProgress`,description="Applications on their way to be healthy"
// +kubebuilder:printcolumn:name="Not-Healthy",type=string,JSONPath=`.statuses.summary.notHealthy`,description="Applications that are not healthy, those on their way included"
// +kubebuilder:printcolumn:name="Not-Synced",type=string,JSONPath=`.statuses.summary.notSynced`,description="Applications that do not run what is in Git"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Applications",type=string,priority=1,JSONPath=`.statuses.summary.applications`,description="Applications of the ApplicationSet"
// +kubebuilder:printcolumn:name="Unreachable",type=string,priority=1,JSONPath=`.statuses.summary.unreachable`,description="Applications on clusters that are not available"
// +kubebuilder:printcolumn:name="Ready",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether all Applications are synced and healthy"
type MulticlusterApplicationSetReport struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// statuses is the report. It is a plain field and not the status
	// subresource, as this API has always had it.
	// +optional
	Statuses ReportStatuses `json:"statuses,omitempty,omitzero"`

	// status holds the standard conditions, for kubectl wait and tools that
	// know no other place to look. It is a plain field too.
	// +optional
	Status ReportStatus `json:"status,omitempty,omitzero"`
}

// ReportStatus says in the standard way where the ApplicationSet stands.
type ReportStatus struct {
	// conditions are Ready and Complete. Ready is True when every Application
	// is synced and healthy on a cluster that is available. Complete is True
	// when every Application has a row in the report. Their
	// observedGeneration is the generation of the report itself.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReportStatuses is the content of a report: what is deployed, where it
// stands on every cluster, and the counts.
type ReportStatuses struct {
	// resources lists what the ApplicationSet's Applications deploy, first
	// what failed or is missing on some cluster.
	// +optional
	Resources []ReportedResource `json:"resources,omitempty"`

	// summary counts the Applications by health and by sync status.
	// +optional
	Summary ReportSummary `json:"summary,omitempty,omitzero"`

	// clusterConditions has a row for every Application of the
	// ApplicationSet: first those that need attention, and among their like
	// sorted by cluster and name. A cluster with several Applications of the
	// ApplicationSet has several rows.
	// +optional
	ClusterConditions []ClusterCondition `json:"clusterConditions,omitempty"`
}

// ReportSummary counts Applications. Every count is a decimal number in a
// string, as this API has always had it.
type ReportSummary struct {
	// clusters is the number of different clusters in the report.
	// +optional
	Clusters string `json:"clusters,omitempty"`

	// applications is the number of Applications in the report: the number
	// that the counts by status are parts of. It is the same as clusters
	// when every cluster has one Application of the ApplicationSet.
	// +optional
	Applications string `json:"applications,omitempty"`

	// synced is the number of Applications that run what is in Git.
	// +optional
	Synced string `json:"synced,omitempty"`

	// notSynced is the number of Applications that do not run what is in
	// Git, or are not known to.
	// +optional
	NotSynced string `json:"notSynced,omitempty"`

	// healthy is the number of Applications whose health is Healthy.
	// +optional
	Healthy string `json:"healthy,omitempty"`

	// notHealthy is the number of Applications with any other health, or
	// none yet. Those counted by inProgress are counted here too.
	// +optional
	NotHealthy string `json:"notHealthy,omitempty"`

	// inProgress is the number of Applications whose health is Progressing.
	// +optional
	InProgress string `json:"inProgress,omitempty"`

	// unreachable is the number of Applications on clusters that are not
	// available. They are counted by what was last known of them as well.
	// +optional
	Unreachable string `json:"unreachable,omitempty"`

	// notCompared is the number of Applications that the Argo CD of their
	// cluster has not compared with Git for long. They are counted by what
	// was last known of them as well.
	// +optional
	NotCompared string `json:"notCompared,omitempty"`

	// omitted is the number of Applications that have no row, because the
	// report would have become too large. All counts include them.
	// +optional
	Omitted string `json:"omitted,omitempty"`

	// omittedResources is the number of resources that are not listed, for
	// the same reason.
	// +optional
	OmittedResources string `json:"omittedResources,omitempty"`
}

// ClusterCondition is a row of the report: one Application on one cluster.
type ClusterCondition struct {
	// cluster is the name of the ManagedCluster.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// app tells which Application the row is about, as
	// <hub namespace>/<hub name>/<cluster>/<ManifestWork name>.
	// +optional
	App string `json:"app,omitempty"`

	// healthStatus is the Application's health on the cluster, in Argo CD's
	// words: Healthy, Progressing, Degraded, Suspended, Missing or Unknown.
	// +optional
	HealthStatus string `json:"healthStatus,omitempty"`

	// syncStatus is Synced, OutOfSync or Unknown, as the cluster's Argo CD
	// says.
	// +optional
	SyncStatus string `json:"syncStatus,omitempty"`

	// operationStatePhase is the phase of the latest sync operation on the
	// cluster: Running, Terminating, Succeeded, Failed or Error.
	// +optional
	OperationStatePhase string `json:"operationStatePhase,omitempty"`

	// operationStateStartedAt is when that operation started, in RFC 3339.
	// +optional
	OperationStateStartedAt string `json:"operationStateStartedAt,omitempty"`

	// syncRevision is the revision that the cluster's Argo CD compared the
	// cluster with.
	// +optional
	SyncRevision string `json:"syncRevision,omitempty"`

	// conditions are the errors and warnings of the Application, from its
	// cluster or from the way there.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`

	// resourceCounts counts the Application's resources by status. It is
	// missing when no source of resources has told of the Application.
	// +optional
	ResourceCounts *ResourceCounts `json:"resourceCounts,omitempty"`

	// observedAt is when the cluster first had the state that the row shows,
	// if the source knows this.
	// +optional
	ObservedAt metav1.Time `json:"observedAt,omitempty,omitzero"`

	// source says where the row comes from: feedback, agent or search. It is
	// empty until the cluster has reported something.
	// +optional
	Source string `json:"source,omitempty"`
}

// ResourceCounts counts the resources of one Application.
type ResourceCounts struct {
	// total is the number of all resources.
	// +optional
	Total int32 `json:"total,omitempty"`

	// synced is the number of resources that equal those in Git.
	// +optional
	Synced int32 `json:"synced,omitempty"`

	// outOfSync is the number of resources that differ from those in Git.
	// +optional
	OutOfSync int32 `json:"outOfSync,omitempty"`

	// healthy is the number of resources that work.
	// +optional
	Healthy int32 `json:"healthy,omitempty"`

	// progressing is the number of resources on their way to be healthy.
	// +optional
	Progressing int32 `json:"progressing,omitempty"`

	// degraded is the number of resources that do not work.
	// +optional
	Degraded int32 `json:"degraded,omitempty"`

	// suspended is the number of resources that are suspended.
	// +optional
	Suspended int32 `json:"suspended,omitempty"`

	// missing is the number of resources that are not on the cluster.
	// +optional
	Missing int32 `json:"missing,omitempty"`

	// unknown is the number of resources whose health cannot be told.
	// Resources of a kind that has no health are not counted.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// Condition is an error or a warning of one Application on one cluster.
type Condition struct {
	// type names the kind of error or warning, for example SyncError or
	// ClusterUnreachable.
	// +optional
	Type string `json:"type,omitempty"`

	// message is the error or warning itself.
	// +optional
	Message string `json:"message,omitempty"`
}

// ReportedResource is a resource that an Application deploys, and where it
// failed.
type ReportedResource struct {
	ResourceRef `json:",inline"`

	// failing is the number of Applications in which the resource failed or is
	// missing.
	// +optional
	Failing int32 `json:"failing,omitempty"`

	// failures describes up to ten of these Applications, sorted by cluster.
	// There are fewer if the report would be too large.
	// +optional
	Failures []ResourceFailure `json:"failures,omitempty"`
}

// ResourceFailure is a resource that failed or is missing on one cluster.
type ResourceFailure struct {
	// cluster is the name of the ManagedCluster.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// state is Missing, when the resource should be on the cluster and is
	// not; SyncFailed, when the last sync could not bring it to what Git says;
	// or Degraded, when it is there and does not work.
	// +optional
	State string `json:"state,omitempty"`

	// message says why, where the cluster's Argo CD gives a reason.
	// +optional
	Message string `json:"message,omitempty"`
}

// ResourceRef names a resource that an Application deploys.
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

	// namespace is the namespace of the resource, and empty for a
	// cluster-scoped one.
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
