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
type MulticlusterApplicationSetReport struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// statuses is the report. It is a plain field and not the status
	// subresource, as this API has always had it.
	// +optional
	Statuses ReportStatuses `json:"statuses,omitempty,omitzero"`
}

// ReportStatuses is the content of a report: what is deployed, where it
// stands on every cluster, and the counts.
type ReportStatuses struct {
	// resources lists what the ApplicationSet's Applications deploy.
	// +optional
	Resources []ResourceRef `json:"resources,omitempty"`

	// summary counts the Applications by health and by sync status.
	// +optional
	Summary ReportSummary `json:"summary,omitempty,omitzero"`

	// clusterConditions has a row for every Application of the
	// ApplicationSet, sorted. A cluster with several Applications of the
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
}

// Condition is an error or a warning of one Application on one cluster.
type Condition struct {
	// type names the kind of error or warning, for example SyncError. It
	// ends in Error or in Warning.
	// +optional
	Type string `json:"type,omitempty"`

	// message is the error or warning itself.
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
