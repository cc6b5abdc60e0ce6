// Package loop carries out one reconcile of the controllers that observe, decide and apply. It decides twice before something is
// destroyed: the second time from what the API server has now, past the cache.
package loop
