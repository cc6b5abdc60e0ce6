// Package grants reads the objects that decide where an Application may go, and reports their changes.
// ManagedClusterSetBindings, ManagedClusterSets and PlacementDecisions grant clusters to a namespace. AppProjects of
// Argo CD grant destinations. Package pkg/authorization holds the rules for these objects.
//
// Package grants only reads, by default from the cache and its indexes: a new look at a thousand Applications needs no
// request to the API server. The propagation controller calls the package. Before a deletion, the controller calls the
// package again with a reader past the cache.
package grants
