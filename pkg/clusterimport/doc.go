// Package clusterimport decides which cluster Secrets of an Argo CD a GitOpsCluster needs, and which go.
//
// Decide is a pure function from observed facts to a plan, one file per phase: what the Placement has chosen (placement.go), the
// Secrets of the chosen clusters (import.go, credentials.go, argo.go), the generator's objects (generator.go), the Secrets that
// go (remove.go), and what the status says (status.go). Gates is the table of all reasons to wait.
//
// No client, no clock, no log, and nothing that is passed in is changed. controllers/gitopscluster calls it.
package clusterimport
