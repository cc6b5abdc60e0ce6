// Package resourcetree writes the resources of Applications for pull into Argo CD's cache on the hub: the arrow from the inventory to
// the Redis that argocd-server reads. The folder of --argocd-redis names this Redis; otherwise Towline finds it by Argo CD's own objects.
//
// The package follows what clusters report. It writes the entry of an Application whose resources have changed, renews entries
// before they expire, and removes its entries when their Application is deleted or is not for pull any more. An Application
// without reported resources has no entry. The status of the hub's Application does not count: a tenant may have written the status.
//
// With Access, argocd-server may reach resources on the cluster itself. The Application needs the grant for that at every moment, as
// propagation does. A change of anything that Access reads rewrites the entry at once.
//
// The package does not ask Redis for its own entries, with one exception: a refresh requested on the hub may mean that argocd-server
// did not find the entry.
//
// If Redis does not answer, this is reported once, and everything is tried again after some seconds. Nothing else depends on it
// or waits for it: the package has its own workers.
//
// Package pkg/tree says what an entry is, and why users can only look at it.
package resourcetree
