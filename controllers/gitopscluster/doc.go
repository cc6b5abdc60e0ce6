// Package gitopscluster gives the clusters that a Placement chooses to an Argo CD on the hub: the arrow from Placement and
// ManagedCluster to Argo CD's cluster Secrets, which the generators of ApplicationSets read.
//
// A reconcile handles one GitOpsCluster. It observes (observe*.go: all reads), lets package clusterimport decide (no reads, no
// writes), and applies the plan (apply.go: all writes): the cluster Secrets, the ConfigMap, Role and RoleBinding of the
// clusterDecisionResource generator, and the GitOpsCluster's annotation, finalizer and status. clusterimport.Decide and
// clusterimport.Gates alone say what happens to a Secret, and why something waits.
//
// It never writes a Secret of somebody else. A plan that takes something from an Argo CD is made twice, the second time with
// facts from the API server instead of the cache, and is applied only if both plans are the same. Each write is bound to the UID
// and the version that were read. It reads only the Secrets that it needs (see scopes), and never shows or logs credentials.
package gitopscluster
