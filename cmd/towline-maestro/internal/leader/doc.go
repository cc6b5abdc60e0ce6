// Package leader elects by a Lease on the hub the only writing process among several processes. The remaining processes
// wait, and are not ready.
package leader
