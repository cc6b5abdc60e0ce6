// Package bundle translates between ManifestWorks and Maestro's bundles. The package has no connection to Maestro or to
// a cluster.
//
// Maestro stores the CloudEvent of each write, and gives the data of the event to the agents unchanged. For sources,
// Maestro decodes the data with the types of Maestro's own version, and drops unknown fields. The metadata of the event
// come back complete. For this reason, the package also writes the spec without the manifests into the metadata, and
// reads the spec from the metadata.
package bundle
