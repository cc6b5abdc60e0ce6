// Package argocache accesses the Redis with the cache of an Argo CD. A Source gives the endpoint of the Redis.
// Address is a Source with a configured endpoint. Found is a Source that reads the objects in the namespace of Argo
// CD, with the names from pkg/argoredis.
//
// controllers/resourcetree writes entries to the Redis of the hub's Argo CD. pkg/agent reads entries from the
// Redis of the cluster's Argo CD.
package argocache
