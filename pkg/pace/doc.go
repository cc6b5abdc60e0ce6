// Package pace ends the requests of clients that hardly read or write. A server with a limited number of requests at the
// same time would otherwise lose a place for as long as a client likes.
package pace
