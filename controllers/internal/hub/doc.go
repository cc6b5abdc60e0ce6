// Package hub reads and writes single objects on the hub's API server, and says what an answer of the API server means.
// All writes of Applications and ManifestWorks go through the package.
package hub
