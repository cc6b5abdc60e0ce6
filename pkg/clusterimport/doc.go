// Package clusterimport decides about the cluster Secrets for a GitOpsCluster in an Argo CD: the needed Secrets, and
// the Secrets to remove.
//
// Decide is a pure function from observed facts to a plan, with one file per phase: the choice of the Placement
// (placement.go), the Secrets of the chosen clusters (import.go, credentials.go, argo.go), the generator's objects
// (generator.go), the removal of Secrets (remove.go), and the status (status.go). Gates is the table of all reasons
// to wait.
//
// The package has no client, no clock and no log. Decide changes no argument. controllers/gitopscluster calls the
// package.
package clusterimport
