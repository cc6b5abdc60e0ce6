// Package searchtest is a search service for tests: GraphQL over TLS, with a schema that every query is held to, a
// token that every request must carry, and an index that tests fill with what clusters would report. It filters,
// relates and projects as the real one does; a test can break it in any way. Only tests import it.
package searchtest
