package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of GitOpsClusterStatus.Phase.
const (
	// PhaseSuccessful means a successful import of every selected cluster.
	PhaseSuccessful = "successful"
	// PhaseFailed means a failed import of at least one selected cluster. The
	// message explains the failure.
	PhaseFailed = "failed"
)

// GitOpsCluster imports the clusters of a Placement into an Argo CD on the hub:
// every selected cluster gets an Argo CD cluster Secret. The generators of
// ApplicationSets need these Secrets.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=gitopsclusters,categories=argocd
// +kubebuilder:printcolumn:name="Placement",type=string,JSONPath=`.spec.placementRef.name`,description="The Placement of the clusters"
// +kubebuilder:printcolumn:name="Argo-Namespace",type=string,JSONPath=`.spec.argoServer.argoNamespace`,description="The namespace of the Argo CD with the cluster Secrets"
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`,description="Number of imported clusters"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GitOpsCluster struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the clusters and the Argo CD.
	// +required
	Spec GitOpsClusterSpec `json:"spec"`

	// status is the progress of the import.
	// +optional
	Status GitOpsClusterStatus `json:"status,omitempty,omitzero"`
}

// GitOpsClusterSpec selects the clusters to import, and the Argo CD.
type GitOpsClusterSpec struct {
	// argoServer is the location of the Argo CD.
	// +required
	ArgoServer ArgoServerSpec `json:"argoServer"`

	// placementRef names the Placement of the clusters, with the kind Placement
	// and the apiVersion cluster.open-cluster-management.io/v1beta1. The
	// Placement is in the namespace of the GitOpsCluster.
	// +required
	PlacementRef *corev1.ObjectReference `json:"placementRef"`

	// managedServiceAccountRef is the name of a ManagedServiceAccount in the
	// namespace of each cluster. Towline writes the token of the account into
	// the cluster Secrets, for an Argo CD with the push model. The pull model
	// needs no token.
	// +optional
	ManagedServiceAccountRef string `json:"managedServiceAccountRef,omitempty"`

	// createBlankClusterSecrets asks for cluster Secrets without credentials.
	// The pull model needs no credentials.
	// +optional
	CreateBlankClusterSecrets *bool `json:"createBlankClusterSecrets,omitempty"`

	// createPolicyTemplate asks for a default policy template. Towline accepts
	// and ignores the field.
	// +optional
	CreatePolicyTemplate *bool `json:"createPolicyTemplate,omitempty"`

	// gitopsAddon configures an add-on outside Towline. Towline accepts and
	// ignores the field.
	// +optional
	GitOpsAddon *GitOpsAddonSpec `json:"gitopsAddon,omitempty"`
}

// ArgoServerSpec is the location of an Argo CD.
type ArgoServerSpec struct {
	// cluster is reserved for the name of a managed cluster. Towline ignores the
	// field.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// argoNamespace is the namespace of the Argo CD.
	// +required
	ArgoNamespace string `json:"argoNamespace"`
}

// GitOpsClusterStatus is the progress of the import.
type GitOpsClusterStatus struct {
	// phase is successful or failed. The conditions have more details.
	// +optional
	Phase string `json:"phase,omitempty"`

	// message explains the phase.
	// +optional
	Message string `json:"message,omitempty"`

	// lastUpdateTime is when phase or message last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// clusters is the number of selected clusters with a Secret in the Argo CD.
	// +optional
	Clusters *int32 `json:"clusters,omitempty"`

	// argoNamespaces are all namespaces with possible cluster Secrets of the
	// GitOpsCluster: the namespace in the spec, and earlier namespaces until
	// Towline has removed the cluster Secrets.
	// +optional
	// +listType=set
	ArgoNamespaces []string `json:"argoNamespaces,omitempty"`

	// conditions are the progress of each part of the import:
	// PlacementResolved, ClustersImported and ClustersRemoved. Ready combines
	// PlacementResolved and ClustersImported.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GitOpsClusterList is a list of GitOpsClusters.
//
// +kubebuilder:object:root=true
type GitOpsClusterList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the GitOpsClusters.
	Items []GitOpsCluster `json:"items"`
}
