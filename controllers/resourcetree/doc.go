// Package resourcetree shows in Argo CD's cache on the hub what the Applications for pull consist of: the arrow from
// what is known of a cluster's resources to the Redis that argocd-server reads. --argocd-redis names it;
// otherwise it is found by Argo CD's own objects.
//
// It follows the status of hub Applications, writes the entry of one whose resources have changed, renews entries
// before they expire, and removes those that it wrote when their Application ends or is not for pull any more. An
// Application of which no resources are known has no entry. Redis is asked for nothing that is known here to be there,
// but for one thing: a refresh asked for on the hub may mean that argocd-server has missed the entry.
//
// A Redis that is away is one failure that is told once; everything waits some seconds then and is tried again. Nothing
// else depends on it, and nothing else waits for this package: it has workers of its own.
//
// See pkg/tree for what an entry is, and for why it cannot be used to do anything but show.
package resourcetree
