// Package gitopscluster imports the clusters chosen by a Placement into an Argo CD on the hub: the arrow from Placement
// and ManagedCluster to Argo CD's cluster Secrets, which the generators of ApplicationSets read.
//
// A reconcile handles one GitOpsCluster. The reconcile observes (observe*.go: all reads), lets package clusterimport
// decide (no reads, no writes), and applies the plan (apply.go: all writes). The writes are the cluster Secrets, the
// ConfigMap, Role and RoleBinding of the clusterDecisionResource generator, and the GitOpsCluster's annotation,
// finalizer and status. clusterimport.Decide and clusterimport.Gates alone say what happens to a Secret, and why
// something waits.
//
// The package never writes a Secret of somebody else. A plan with a removal from an Argo CD is made twice, the second
// time with facts from the API server instead of the cache. The plan is applied only if both plans are the same. Each
// write is bound to the UID and the version of the observed object. The package reads only the Secrets that it needs
// (see scopes), and never shows or logs credentials.
package gitopscluster
