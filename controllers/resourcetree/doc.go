// Package resourcetree writes the resources of Applications for pull into Argo CD's cache on the hub: the arrow from the status
// of an Application to the Redis that argocd-server reads. --argocd-redis names this Redis; otherwise Towline finds it by Argo
// CD's own objects.
//
// It follows the status of hub Applications. It writes the entry of an Application whose resources have changed, renews entries
// before they expire, and removes its entries when their Application is deleted or is not for pull any more. An Application
// without known resources has no entry. It does not ask Redis for entries that it has written itself, with one exception: a
// refresh requested on the hub may mean that argocd-server did not find the entry.
//
// If Redis does not answer, this is reported once, and everything is tried again after some seconds. Nothing else depends on it
// or waits for it: the package has its own workers.
//
// Package pkg/tree says what an entry is, and why users can only look at it.
package resourcetree
