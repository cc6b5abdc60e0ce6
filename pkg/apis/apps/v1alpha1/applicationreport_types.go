package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// MaxReportSize is how many bytes of JSON the application, status, tree and
// truncated of an ApplicationReport come to at most.
const MaxReportSize = 256 * 1024

// ApplicationReport is what a managed cluster's Application looks like there.
// It lives on the hub in the cluster's namespace, has the name of the
// ManifestWork that carries the Application, and is owned by it, so that it
// goes with it. The agent add-on on the cluster writes it; Towline's
// controllers on the hub read it, and believe only what fits its field.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applicationreports,shortName=appreport;appreports,categories=argocd
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.application.name`,description="Name of the Application on the cluster"
// +kubebuilder:printcolumn:name="Sync",type=string,JSONPath=`.status.sync.status`,description="Whether the cluster has what is in Git"
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health.status`,description="Health of all resources taken together"
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.operationState.phase`,description="Phase of the last operation"
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.observedAt`,description="When the agent saw it so"
// +kubebuilder:printcolumn:name="Truncated",type=string,JSONPath=`.truncated.summary`,priority=1,description="What had to be left out"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ApplicationReport struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// application is the Application that was observed.
	// +required
	Application ReportedApplication `json:"application"`

	// observedAt is when the agent saw the Application as it is reported.
	// +required
	// +kubebuilder:validation:Format=date-time
	ObservedAt string `json:"observedAt"`

	// status is the Application's status, in Argo CD's own fields. It is a
	// plain field and not the status subresource: the whole report is an
	// observation.
	// +optional
	Status argocd.Status `json:"status,omitzero"`

	// notComparedSince is set only if the cluster's Argo CD has stopped
	// comparing the Application with Git. It is the time of the last
	// comparison, or the time when the Application was created if there has
	// been none.
	// +optional
	// +kubebuilder:validation:Format=date-time
	NotComparedSince string `json:"notComparedSince,omitempty"`

	// tree lists the live resources of the Application, as the cluster's Argo
	// CD knows them: the resources in Git, and their descendants, such as
	// ReplicaSets and Pods. The agent reports it if it runs with
	// --argocd-tree. The resources in Git come first, then their children, and
	// so on. On each level, the resources that need attention come first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Tree []TreeNode `json:"tree,omitempty"`

	// unreadable names the fields of the Application's status that this agent
	// cannot read, because a newer Argo CD may have written them in another
	// form. The hub keeps the last value that it knows of these fields.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Unreadable []string `json:"unreadable,omitempty"`

	// truncated says what the agent left out because the report would be
	// larger than 256 KiB. It is not set if the report is complete.
	// +optional
	Truncated *Truncated `json:"truncated,omitempty"`
}

// ReportedApplication names an Application on its cluster, at the moment when
// it was observed.
type ReportedApplication struct {
	// namespace is the Application's namespace on the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// name is the Application's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid is the Application's UID on the cluster. An Application that was
	// deleted and created again has another UID, and so has one on a cluster
	// that was rebuilt.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	UID string `json:"uid,omitempty"`

	// resourceVersion is the Application's resourceVersion on the cluster. Of
	// two reports with the same uid, the one with the greater resourceVersion
	// is newer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ResourceVersion string `json:"resourceVersion"`
}

// TreeNode is a live resource on the cluster.
type TreeNode struct {
	// group is the resource's API group; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// version is the version of the API group.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// kind is the resource's kind.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// namespace is the resource's namespace; empty for a cluster-wide one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// name is the resource's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid is the resource's UID on the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`

	// parent is the UID of the resource that created this one. It is empty for
	// a resource in Git.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Parent string `json:"parent,omitempty"`

	// health is the resource's health, where Argo CD has one for its kind.
	// +optional
	Health *argocd.Health `json:"health,omitempty"`

	// createdAt is when the resource was created, in RFC 3339.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CreatedAt string `json:"createdAt,omitempty"`
}

// Truncated counts what was left out of a report. For the same Application,
// the same is left out. Messages are shortened first. Then the agent leaves
// out, in this order: the end of the tree, the oldest history, the last images
// and addresses, the results of resources that were synced without an error,
// the resources that are synced and healthy, and finally the others.
type Truncated struct {
	// summary is one sentence about what was left out.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Summary string `json:"summary,omitempty"`

	// messages is true if messages were shortened more than usual.
	// +optional
	Messages bool `json:"messages,omitempty"`

	// resources is how many resources were left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Resources int32 `json:"resources,omitempty"`

	// tree is how many live resources were left out of the tree.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tree int32 `json:"tree,omitempty"`

	// results is how many resources of the sync result were left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Results int32 `json:"results,omitempty"`

	// conditions is how many conditions were left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Conditions int32 `json:"conditions,omitempty"`

	// history is how many of the last ten entries of the history were left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	History int32 `json:"history,omitempty"`

	// images is how many images were left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Images int32 `json:"images,omitempty"`

	// externalURLs is how many addresses were left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ExternalURLs int32 `json:"externalURLs,omitempty"`
}

// ApplicationReportList is a list of ApplicationReports.
//
// +kubebuilder:object:root=true
type ApplicationReportList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the reports.
	// +required
	Items []ApplicationReport `json:"items"`
}
