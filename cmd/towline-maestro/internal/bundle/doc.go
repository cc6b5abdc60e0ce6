// Package bundle translates between ManifestWorks and Maestro's bundles. The package does not read or write a server.
//
// Maestro stores the CloudEvent for a written work, and sends the event's data to the agents without a change. For
// sources, Maestro decodes the data with the types of Maestro's version, and drops unknown fields. Maestro returns the
// metadata of the event completely. So the package writes the small part of a spec (without the manifests) a second
// time into the metadata, and reads the small part from the metadata.
package bundle
