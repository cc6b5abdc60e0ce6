// Package server serves the works of a mirror as the Kubernetes API manifestworks.work.open-cluster-management.io/v1, by the library of
// Kubernetes' own API servers. The hub's API server sends requests for this group and version here, once an APIService says so; who a
// user is and what he may do is asked of the hub.
package server
