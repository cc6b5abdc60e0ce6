// Package search asks ACM Search v2, over GraphQL, what the Applications of a page of clusters consist of.
//
// It sends a bearer token to one address only: over verified TLS, following no redirect, and never into a log, an
// error or a URL. What comes back was collected on the clusters and is not trusted: an answer is bounded in size,
// every value is held to its format, an item speaks for its own cluster only, and one that does not fit spoils
// nothing but itself.
//
// It keeps no facts, retries nothing and logs nothing. controllers/resourcesync calls it, page by page.
package search
