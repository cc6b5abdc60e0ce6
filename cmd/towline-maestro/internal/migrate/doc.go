// Package migrate moves the works of a hub between its etcd and Maestro, so that nothing on a cluster is deleted or made again.
//
// A cluster's agent applies a work under a record on the cluster, the AppliedManifestWork, whose name begins with a hash of the
// agent's source. With another source the agent makes a second record, which becomes a second owner of the same objects; then the
// first one can go without them. So a move has three parts. Copy makes the works the same at the new place, before anybody reads them
// there. Clean removes them from the hub's etcd, when the agents fetch them from Maestro. Settle removes an agent's records of its
// earlier source, when those of the present one own the same. Each can be ended at any moment and run again.
//
// Plan, Fetched and Superseded decide; they read and write nothing.
package migrate
