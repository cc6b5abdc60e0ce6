// Package placement sets the cluster of Applications that follow a Placement: the arrow from a PlacementDecision to the
// annotation of a hub Application. The move to the new cluster is done by package propagation.
//
// It reads the PlacementDecisions in the Application's own namespace only: a tenant cannot follow the Placement of another
// tenant. It writes the annotation that names the cluster, and the condition PlacementWarning. Package pkg/placement decides.
package placement
