// Package server serves the works of a mirror as the Kubernetes API manifestworks.work.open-cluster-management.io/v1,
// with the library of Kubernetes' own API servers. An APIService makes the hub's API server forward the requests for
// the group and version to the server. The hub authenticates and authorizes the users.
package server
