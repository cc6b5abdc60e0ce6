// Package gitopscluster makes the clusters that a Placement selects known to an Argo CD on the hub: the arrow from
// Placement and ManagedCluster to Argo CD's cluster Secrets, which the generators of ApplicationSets read.
//
// A reconcile looks at one GitOpsCluster. It observes (observe*.go: all reads), has package clusterimport decide (no reads, no
// writes), and applies the plan (apply.go: all writes): the cluster Secrets, the ConfigMap, Role and RoleBinding of the
// clusterDecisionResource generator, and the GitOpsCluster's marks and status. What becomes of a Secret, and why something waits,
// is to be read in clusterimport.Decide and clusterimport.Gates alone.
//
// It never writes a Secret that is not its own. A plan that takes something from an Argo CD is made twice, the second time from
// what the API server, not the cache, has, and is applied only if both come to the same; each write is bound to the UID and the
// version that were read. It sees only the Secrets that it needs (see scopes), and what it shows and logs has no credentials in
// it.
package gitopscluster
