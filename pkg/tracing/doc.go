// Package tracing sends OpenTelemetry traces of deliveries to a collector: the change of an Application on the hub, the
// write of the ManifestWork, and the reports of the cluster.
//
// The parts of a trace come from different reconciles. A Tracer therefore remembers the recent deliveries, by the UID of
// the ManifestWork. Objects have no content for traces, so neither a tenant nor a cluster can choose a trace. A cluster
// adds spans only to the delivery of its own ManifestWork, and only MaxParts of them.
//
// Without a Tracer, the controllers collect nothing. Attributes are names, UIDs and codes, never specs or messages.
package tracing
