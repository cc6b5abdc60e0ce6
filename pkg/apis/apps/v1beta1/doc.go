// Package v1beta1 holds the GitOpsCluster: which managed clusters an Argo CD
// on the hub is to know, chosen by a Placement.
//
// The package has types only. It never talks to an API server, and it decides
// nothing: people write GitOpsClusters, the gitopscluster controller reads
// their spec and writes their status.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1beta1
