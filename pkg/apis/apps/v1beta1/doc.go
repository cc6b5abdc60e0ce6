// Package v1beta1 holds the GitOpsCluster: the import of managed clusters,
// selected by a Placement, into an Argo CD on the hub.
//
// The package has types only, without connections to an API server and without
// decisions. People write GitOpsClusters. The gitopscluster controller reads
// the spec and writes the status.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1beta1
