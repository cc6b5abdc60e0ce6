// Package search asks ACM Search v2, over GraphQL, for the resources of the Applications on a page of clusters.
//
// The package sends a bearer token to one address only: over verified TLS, without redirects, and never into a log, an
// error or a URL. The answer has data collected on the clusters, and is not trusted. The size of an answer is limited,
// and every value must match its format. An item counts only for its own cluster, and an invalid item affects no
// further item.
//
// The package keeps no facts, does not retry, and does not log. controllers/resourcesync calls the package, page by
// page.
package search
