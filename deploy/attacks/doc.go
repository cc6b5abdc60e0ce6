// Package attacks has no code of its own. Its tests send, to a real API server with the admission policies and roles that
// Towline is installed with, what tenants, clusters' agents and whoever has Towline's token may not do.
//
// What takes a cluster, an agent or a running Towline is tried in e2e/suite.
package attacks
