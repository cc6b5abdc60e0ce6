// Package contact records the results of the requests to Maestro, for the readiness and the metrics of the process.
//
// A Contact stands between the mirror and the client, and passes on requests and answers without a change. A refusal of
// one work, for example for an outdated version, counts as an answer. A request counts as failed if Maestro could not be
// reached, or refuses the caller.
package contact
