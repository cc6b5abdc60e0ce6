// Package placement keeps the cluster of Applications in step that follow a Placement: the arrow from a PlacementDecision to the
// annotation of a hub Application. Whatever comes of a new cluster, the move, is propagation's.
//
// It reads the PlacementDecisions of the Application's own namespace, and no others: a tenant cannot follow another's Placement. It
// writes the annotation that names the cluster, and the condition PlacementWarning. Package pkg/placement decides.
package placement
