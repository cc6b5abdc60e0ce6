// Package leader lets one of several processes write, by a Lease on the hub. The others wait, and are not ready.
package leader
