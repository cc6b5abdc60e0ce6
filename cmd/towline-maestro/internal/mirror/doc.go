// Package mirror holds the works stored in Maestro, and adds the resource versions and the watches of the Kubernetes
// API. Maestro stores a work as a bundle, a row of the database. During some changes, a work has several bundles.
//
// Maestro sends a source only statuses, and only to a connected listener. The mirror takes each message for a hint. If
// a message is not the next status of the known work, the mirror reads the work from Maestro. At each connect and every
// few minutes, the mirror reads all works, or more rarely if a full read takes long. The mirror reads the changed works
// every few minutes. A work counts as removed only after a read of the single work. A missing entry in a list proves no
// removal.
//
// All writes go through the mirror, one at a time for each work. The mirror stores a write before the client gets the
// answer. Only one process may write for one source at a time. Without a request of a client, the mirror repeats writes
// lost by Maestro, and sends a spec again to an agent that has not answered. The mirror also gives a work a new id
// after a stranger may have learned the old id.
package mirror
