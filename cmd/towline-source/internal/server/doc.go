// Package server serves the API of repositories through the hub: an API server behind the hub's API server. The
// subresource proxy answers Git's requests of a cluster.
package server
