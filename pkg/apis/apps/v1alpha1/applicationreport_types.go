package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// MaxReportSize is the maximum size of the application, status, tree and
// truncated of an ApplicationReport, in bytes of JSON.
const MaxReportSize = 256 * 1024

// ApplicationReport is the state of an Application on a managed cluster. The
// report is on the hub in the cluster's namespace, and has the name of the
// Application's ManifestWork. The ManifestWork owns the report: Kubernetes
// deletes the report with the ManifestWork. The agent add-on on the cluster
// writes the report. Towline's controllers on the hub read the report, and
// drop values with the wrong format for the field.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applicationreports,shortName=appreport;appreports,categories=argocd
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.application.name`,description="Name of the Application on the cluster"
// +kubebuilder:printcolumn:name="Sync",type=string,JSONPath=`.status.sync.status`,description="Whether the cluster equals Git"
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health.status`,description="Common health of all resources"
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.operationState.phase`,description="Phase of the last operation"
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.observedAt`,description="When the agent saw the Application in this state"
// +kubebuilder:printcolumn:name="Truncated",type=string,JSONPath=`.truncated.summary`,priority=1,description="Summary of the omitted parts"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ApplicationReport struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// application is the observed Application.
	// +required
	Application ReportedApplication `json:"application"`

	// observedAt is when the agent saw the Application in the reported state.
	// +required
	// +kubebuilder:validation:Format=date-time
	ObservedAt string `json:"observedAt"`

	// status is the Application's status, in Argo CD's own fields. The field
	// is plain, and not the status subresource, because the whole report is an
	// observation.
	// +optional
	Status argocd.Status `json:"status,omitzero"`

	// notComparedSince is set only if the cluster's Argo CD has stopped
	// comparing the Application with Git. The value is the time of the last
	// comparison. Without any comparison, the value is the creation time of the
	// Application.
	// +optional
	// +kubebuilder:validation:Format=date-time
	NotComparedSince string `json:"notComparedSince,omitempty"`

	// tree lists the live resources of the Application, from the cluster's Argo
	// CD: the resources in Git, and the descendants of these resources, for
	// example ReplicaSets and Pods. An agent with --argocd-tree reports the
	// tree. The resources in Git come first, then the children, then the
	// grandchildren. On each level, resources with problems come first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Tree []TreeNode `json:"tree,omitempty"`

	// unreadable names the fields of the Application's status with an unknown
	// format, for example from a newer Argo CD. The agent cannot read these
	// fields. The hub keeps the last known values of the fields.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Unreadable []string `json:"unreadable,omitempty"`

	// truncated counts the omitted parts of a report larger than 256 KiB. A
	// complete report does not have the field.
	// +optional
	Truncated *Truncated `json:"truncated,omitempty"`
}

// ReportedApplication names an Application on a cluster, at the moment of the
// observation.
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

	// uid is the Application's UID on the cluster. An Application gets a new
	// UID if a user deletes the Application and creates the Application again,
	// or rebuilds the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	UID string `json:"uid,omitempty"`

	// resourceVersion is the Application's resourceVersion on the cluster. Of
	// two reports with the same uid, the report with the greater
	// resourceVersion is newer.
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

	// namespace is the resource's namespace; empty for a cluster-scoped
	// resource.
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

	// parent is the UID of the parent resource; empty for a resource in Git.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Parent string `json:"parent,omitempty"`

	// health is the resource's health, if Argo CD has a health check for the
	// kind.
	// +optional
	Health *argocd.Health `json:"health,omitempty"`

	// createdAt is when the resource was created, in RFC 3339.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CreatedAt string `json:"createdAt,omitempty"`
}

// Truncated counts the omitted parts of a report. For the same Application,
// the agent always omits the same parts. The agent shortens messages first.
// Then the agent omits, in this order: the end of the tree, the oldest history,
// the last images and addresses, the results of resources synced without an
// error, the synced and healthy resources, and finally the remaining resources.
type Truncated struct {
	// summary describes the omitted parts in a single sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Summary string `json:"summary,omitempty"`

	// messages is true if the agent shortened messages more than usual.
	// +optional
	Messages bool `json:"messages,omitempty"`

	// resources is the number of omitted resources.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Resources int32 `json:"resources,omitempty"`

	// tree is the number of live resources omitted from the tree.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tree int32 `json:"tree,omitempty"`

	// results is the number of resources omitted from the sync result.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Results int32 `json:"results,omitempty"`

	// conditions is the number of omitted conditions.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Conditions int32 `json:"conditions,omitempty"`

	// history is the number of omitted entries, of the last ten entries of
	// the history.
	// +optional
	// +kubebuilder:validation:Minimum=0
	History int32 `json:"history,omitempty"`

	// images is the number of omitted images.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Images int32 `json:"images,omitempty"`

	// externalURLs is the number of omitted addresses.
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
