// Package bundle translates between ManifestWorks and what Maestro keeps of them. It reads and writes nothing.
//
// Maestro keeps the CloudEvent by which a work was written, and gives its data to the agents as it came. To sources it gives the data
// through types of its own version, and what these do not know is missing then. The metadata that travels beside the data comes back
// whole. So the small part of a spec, all but its manifests, is written there a second time, and read from there.
package bundle
