// Package gitopscluster makes the clusters that a Placement selects known to an Argo CD on the hub: the arrow from
// Placement and ManagedCluster to Argo CD's cluster Secrets, which the generators of ApplicationSets read.
//
// A reconcile looks at one GitOpsCluster: which clusters its Placement has chosen, whether the Argo CD's namespace may be
// written to, what its cluster Secrets say, and what they should. It writes these Secrets, the ConfigMap, Role and
// RoleBinding of the clusterDecisionResource generator, and the GitOpsCluster's finalizer and status.
//
// It never writes a Secret that is not its own, and removes one only when the API server itself says that the cluster is
// not selected, no hub Application targets the cluster, and no other GitOpsCluster wants it. It sees only the Secrets that
// it needs (see scopes), and what it shows and logs has no credentials in it.
package gitopscluster
