// Package informer fills the caches of Towline. An informer reads large lists page by page, waits for an API without a
// server, and leaves unused entries out of its indexes. The caches are filled on standby replicas too, so that the next
// leader can start at once.
package informer
