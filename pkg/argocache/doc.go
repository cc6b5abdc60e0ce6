// Package argocache speaks to the Redis in which an Argo CD keeps its cache. A Source tells where that is: Address by what somebody has
// named, Found by the objects that Argo CD keeps in its namespace, of which pkg/argoredis knows the names.
//
// controllers/resourcetree writes entries to that of the hub's Argo CD. controllers/agent reads entries of that of its cluster.
package argocache
