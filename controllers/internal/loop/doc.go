// Package loop runs a reconcile for controllers that observe, decide and apply. Before a destructive write, the package
// decides a second time, from the API server's present state, past the cache.
package loop
