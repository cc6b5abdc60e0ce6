// Package resourcetree copies the resources of pull Applications from the inventory into Argo CD's cache on the hub,
// the Redis read by argocd-server. The folder of --argocd-redis names the Redis. Without the flag, Towline finds the
// Redis by Argo CD's own objects.
//
// The package follows the clusters' reports. It writes the entry of an Application whose resources have changed, and
// renews entries before they expire. It removes its entries when their Application is deleted or is no longer for pull.
// An Application without reported resources has no entry. The status of the hub's Application does not count: a tenant
// may have written the status.
//
// With Access, argocd-server may reach resources on the cluster itself. As in propagation, the Application needs the
// grant for the cluster at every moment. A change of anything read by Access rewrites the entry at once.
//
// The package does not ask Redis for its own entries, with one exception: a refresh requested on the hub may mean that
// argocd-server did not find the entry.
//
// If Redis does not answer, the package logs the failure once, and retries after some seconds. No other part of Towline
// waits for Redis: the package has its own workers.
//
// Package pkg/tree describes an entry, and why users can only look at an entry.
package resourcetree
