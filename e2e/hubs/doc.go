// Package hubs tests a hub of hubs: a top hub, and two regional hubs with a cluster each. All components are real. The
// regional hubs are managed clusters of the top hub. The package applies example/hubs as in docs/hubs.md.
package hubs
