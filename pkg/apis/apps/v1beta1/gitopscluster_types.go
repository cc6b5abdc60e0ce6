package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What GitOpsClusterStatus.Phase says.
const (
	// PhaseSuccessful means that every selected cluster was imported.
	PhaseSuccessful = "successful"
	// PhaseFailed means that at least one was not; the message says why.
	PhaseFailed = "failed"
)

// GitOpsCluster makes the clusters that a Placement selects known to an Argo
// CD on the hub: every one of them gets an Argo CD cluster Secret, which the
// generators of ApplicationSets need.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=gitopsclusters,categories=argocd
// +kubebuilder:printcolumn:name="Placement",type=string,JSONPath=`.spec.placementRef.name`,description="The Placement that selects the clusters"
// +kubebuilder:printcolumn:name="Argo-Namespace",type=string,JSONPath=`.spec.argoServer.argoNamespace`,description="The namespace of the Argo CD that gets the clusters"
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`,description="How many clusters have been imported"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GitOpsCluster struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which clusters, and for which Argo CD.
	// +required
	Spec GitOpsClusterSpec `json:"spec"`

	// status says how far the import is.
	// +optional
	Status GitOpsClusterStatus `json:"status,omitempty,omitzero"`
}

// GitOpsClusterSpec says which clusters to import, and into which Argo CD.
type GitOpsClusterSpec struct {
	// argoServer says where the Argo CD is.
	// +required
	ArgoServer ArgoServerSpec `json:"argoServer"`

	// placementRef names the Placement that selects the clusters. Its kind
	// is Placement, its apiVersion cluster.open-cluster-management.io/v1beta1,
	// and it is in the namespace of the GitOpsCluster.
	// +required
	PlacementRef *corev1.ObjectReference `json:"placementRef"`

	// managedServiceAccountRef is the name of a ManagedServiceAccount in the
	// namespace of each cluster. Its token then goes into the cluster
	// Secrets, for an Argo CD that pushes. The pull model needs none.
	// +optional
	ManagedServiceAccountRef string `json:"managedServiceAccountRef,omitempty"`

	// createBlankClusterSecrets asks for cluster Secrets without
	// credentials, which is all that the pull model needs.
	// +optional
	CreateBlankClusterSecrets *bool `json:"createBlankClusterSecrets,omitempty"`

	// createPolicyTemplate asks for a default policy template. Towline
	// accepts the field and does not act on it.
	// +optional
	CreatePolicyTemplate *bool `json:"createPolicyTemplate,omitempty"`

	// gitopsAddon configures an add-on that is not part of Towline. Towline
	// accepts the field and does not act on it.
	// +optional
	GitOpsAddon *GitOpsAddonSpec `json:"gitopsAddon,omitempty"`
}

// ArgoServerSpec says where an Argo CD is.
type ArgoServerSpec struct {
	// cluster is reserved for the name of a managed cluster, and not used.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// argoNamespace is the namespace that the Argo CD runs in.
	// +required
	ArgoNamespace string `json:"argoNamespace"`
}

// GitOpsClusterStatus says how far the import is.
type GitOpsClusterStatus struct {
	// phase is successful or failed. The conditions say more.
	// +optional
	Phase string `json:"phase,omitempty"`

	// message explains the phase.
	// +optional
	Message string `json:"message,omitempty"`

	// lastUpdateTime is when phase or message last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// clusters is how many of the selected clusters have a Secret in the
	// Argo CD.
	// +optional
	Clusters *int32 `json:"clusters,omitempty"`

	// argoNamespaces are the namespaces in which this GitOpsCluster may have
	// cluster Secrets: that of the spec, and earlier ones until theirs are
	// gone.
	// +optional
	// +listType=set
	ArgoNamespaces []string `json:"argoNamespaces,omitempty"`

	// conditions say where each part of the import stands:
	// PlacementResolved, ClustersImported, ClustersRemoved and, of the first
	// two, Ready.
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
