// Package contact remembers what became of the requests to Maestro: for the readiness of the process, and for its metrics.
//
// It stands between the mirror and the client, and changes nothing of what it passes on. An answer that says no about one work, such as
// that its version is not the latest, is an answer. A request counts as failed if Maestro could not be reached, or refuses who asks.
package contact
