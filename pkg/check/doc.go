// Package check finds problems of an installation of Towline, of a hub before the installation, or of a managed
// cluster, and names the remedies.
//
// Each check is a function of facts, and returns lines. An unreadable fact is unknown, not wrong. The package has no
// client: kubectl towline check reads the facts, with the rights of its user. pkg/delivery decides the fate of
// Applications after a takeover.
package check
