// Package grants reads the objects that say where an Application may go, and tells when one of them has changed:
// ManagedClusterSetBindings, ManagedClusterSets and PlacementDecisions, by which a namespace is given clusters, and
// the AppProjects of Argo CD. What they mean is decided in pkg/authorization.
//
// It only reads, by default from the cache and its indexes: nothing is asked of the API server when a thousand
// Applications are looked at again. The propagation controller calls it, and a second time with a reader past the
// cache before it deletes anything.
package grants
