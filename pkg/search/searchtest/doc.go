// Package searchtest is a search service for tests: GraphQL over TLS. Every query must match the schema, and every
// request must carry the token. Tests fill the index with reports of clusters. The service filters, relates and
// projects like the real service, and tests can break the service in any way. Only tests import this package.
package searchtest
