// Package placement sets the cluster of Applications with a Placement: the arrow from a PlacementDecision to the
// annotation of a hub Application. Package propagation makes the move to the new cluster.
//
// The package reads the PlacementDecisions only in the Application's own namespace: a tenant cannot follow the
// Placement of a different tenant. It writes the annotation with the cluster, and the condition PlacementWarning.
// Package pkg/placement decides.
package placement
