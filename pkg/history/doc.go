// Package history decides which entries of a cluster's history the hub shows. A user can roll an Application back to
// any shown entry, and Argo CD then deploys the source of the entry. Therefore the hub shows only its own sources:
// each shown source is or was in the hub's spec of the Application. A cluster reports only the digest of a
// deployed source, and the deployed revision.
//
// The hub remembers its sources in the shown history. No cluster can write the shown history. For a source that changes
// before the cluster reports the deployment, controllers/status remembers the former specs in memory. An entry can be
// missing: if the hub never showed the source and has restarted since the change, or if the Application moved. The hub
// never shows the history of a different cluster.
//
// The package is pure. The agent's reports carry the digests; controllers/status shows the entries.
package history
