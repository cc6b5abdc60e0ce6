// Package maestro is a client of Maestro for a source of works. The client writes works and receives statuses as
// CloudEvents over gRPC, and reads works over REST.
package maestro
