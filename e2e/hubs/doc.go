// Package hubs tests a hub of hubs: a top hub, two regional hubs with a cluster each, on which everything is real. The regional hubs are
// managed clusters of the top hub. It applies example/hubs as docs/hubs.md says.
package hubs
