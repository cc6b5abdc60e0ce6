// Package loop runs the reconciles of controllers that observe, decide and apply. Before a destructive write, the
// package decides a second time, from the API server's present state, past the cache. The package also has the parts
// around a reconcile: watches as data, the pace of retries, the queue of a standby replica, and the limit of events.
package loop
