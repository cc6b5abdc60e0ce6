// Package history decides which entries of a cluster's history the hub shows. A user can roll an Application back to any shown
// entry, and Argo CD then deploys the source of the entry. So the hub shows its own sources only: each shown source is or was in
// the hub's spec of the Application. A cluster says which of these sources it deployed, by a digest, and at which revision.
//
// The hub remembers its sources in the history that it shows, which no cluster can write. An entry can be missing: if the hub
// never showed its source, or if the Application moved. The history of another cluster is never shown.
//
// It is pure. The agent's reports carry the digests; controllers/status shows the entries.
package history
