// Package maestro speaks to Maestro as a source of works: CloudEvents over gRPC to write and to be told of statuses, REST to read.
package maestro
