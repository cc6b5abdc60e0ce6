// Package gate defines a table of reasons to wait, as used by every decision of Towline (pkg/delivery,
// pkg/dependency, pkg/clusterimport). The package also defines the trace of a decision: the answers of the gates. The
// rules are in the tables.
package gate
