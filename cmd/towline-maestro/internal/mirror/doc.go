// Package mirror holds the works that Maestro has, and gives them the versions and the watches of the Kubernetes API.
//
// Maestro tells a source of statuses only, and only while it listens. So what it tells is a hint: whatever is not the next status of
// what the mirror has is read from Maestro. All works are read again at each connect and every few minutes, or more
// rarely where that takes long; those that have changed are read every few minutes. A work is taken for
// removed when reading it says so, never because a list lacks it.
//
// Writes go through the mirror, one at a time for each work, so that it has them before they are answered. One process may write
// for one source at a time. By itself the mirror writes what Maestro has lost, and sends again what an
// agent has not answered. It also gives a work a new id, after a stranger may have learned the old id.
package mirror
