// Package migrate moves the works of a hub between the hub's etcd and Maestro. A migration does not delete or recreate
// objects on the clusters.
//
// A cluster's work agent keeps a record on the cluster for each applied work, the AppliedManifestWork. The name of the
// record begins with a hash of the agent's source. After a change of the source, the agent creates a second record, and
// the second record becomes a second owner of the same objects. Then a deletion of the first record does not delete the
// objects. So a migration has three parts. Copy copies the works to the new place before any agent or user reads the
// works in the new place. Clean removes the works from the hub's etcd after the agents fetch the works from Maestro.
// Settle removes the records of an agent's earlier source after the records of the present source own the same objects.
// Each part may stop at any moment and run again.
//
// Plan, Fetched and Superseded only decide. The three functions do not read or write a server.
package migrate
